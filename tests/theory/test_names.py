from mogro import theory


def test_public_names_are_sorted_and_there() -> None:
    names = theory.__all__
    assert names == sorted(names, key=lambda name: (name.islower(), name))
    assert all(getattr(theory, name).__doc__ for name in names)
