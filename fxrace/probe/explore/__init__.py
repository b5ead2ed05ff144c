"""Controlled schedules of a few threads: run them in a chosen order, over and over, and compare.

The words used here, one meaning each:

program     what is scheduled: ``prepare()`` makes fresh *bodies*, one callable per thread
body        what one thread runs; its result (or error) is compared by others, never here
point       a named place where a thread offers to stop: ``trace:enter#1``; the number counts this
            thread's visits in this schedule. Never a line number: names survive versions
grain       how many points there are: region < state < call
baton       the right to run: one registered thread has it, the others stand at a point
step        one decision at a point: who could run, who was chosen
choice      a step where two or more could run; all a token needs
chooser     decides the steps of one schedule (``choices``); picklable, knows no torch
strategy    decides which schedules are tried, and says when there are none left (``strategies``)
preemption  a switch away from a thread that could have gone on
slip        a runner that stood in native code or on an unseen lock, and was passed over
blocked     a thread that waits for a lock another participant holds; no fault, no slip
played      the record of one schedule: steps, ends, slips, blocks, States off their baseline
dirty       a process after a schedule that left something behind: runs no further schedule

How to run one schedule, in this process (``schedule``)::

    with exploring(grain="region") as stage:                  # hooks on, points on
        played = stage.play(program, OneStop(thread=0, at="trace:inside#1"))

and many, each in a process that is clean (``runner``)::

    with Workers(program, grain="region") as workers:
        for played in workers.explore(exhaustive.strategy, bound=2): ...

Modules: ``played`` (records) · ``choices`` (choosers) · ``baton`` (hand-over) · ``standing`` (is
the runner stuck or busy) · ``gates`` (locks) · ``points/`` (where threads stop) · ``schedule``,
``runner`` · ``strategies/`` · ``coverage`` · ``token`` · ``minimise`` · ``emit``.
"""
