"""What runs inside a test suite: the work behind the pytest plugin, and behind the strategies.

``fxrace/pytest_plugin.py`` only declares options, markers and fixtures; nothing here is imported
before a run asks for it. ``settings`` and ``wanted`` say what was asked, ``exploration`` and
``observation`` do it, ``judging`` decides what a test becomes, ``session`` ties these to pytest.
"""
