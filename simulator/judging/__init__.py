"""Draft, verify and judge, where the rows of a round lie: in this computer's memory or on a device."""
