"""Decisions over the network: ``mogro serve``, its client, and the page to steer by.

One process learns, and light clients ask it. :func:`mogro.connect` needs msgspec (the extra
``client``); all else here needs the extra ``serve``.
"""
