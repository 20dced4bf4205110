"""The controllers that other projects bring for their job kinds, played: pods or child objects made, statuses written.

``plan`` says what an operator wants done, ``operator`` does it, and each kind's file decides, purely. They stand in for
the real ones where those are not to be had; what they write follows what the real ones write.
"""
