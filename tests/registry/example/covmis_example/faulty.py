"""What cannot be imported."""

raise RuntimeError("no\nlibrary of theirs")
