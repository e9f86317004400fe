"""The building blocks of the window; each is told what to show and decides nothing."""
