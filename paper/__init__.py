"""The paper's experiments, and some beyond it: ``python -m paper``, in a checkout.

``figures`` has one file a figure, ``lab`` what runs them, ``report`` what judges and shows them.
"""
