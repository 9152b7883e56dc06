"""``python -m paper``; workers import this file too, and find nothing to do."""

if __name__ == "__main__":
    from paper.command import main

    main()
