"""``python -m ropeaudit``."""

from ropeaudit.cli.app import main

if __name__ == "__main__":
    main()
