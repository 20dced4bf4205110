"""The API version before today's: what its schemas say, and its objects in today's form and back.

``convert`` is the one question; ``kinds.OLD_VERSIONS`` the answer per kind, a file each. ``old_version`` holds what a
kind states, ``schema_changes`` the steps from one schema to the other, ``kept`` the annotation that carries what a
version cannot say, so that an object that went there and back is what it was.
"""
