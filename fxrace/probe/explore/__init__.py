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

    program = Program(prepare=lambda: [body_a, body_b])       # called before every schedule
    with exploring("region") as stage:                        # hooks, gates and points are on
        played = stage.play(program, OneStop(thread=0, at="trace:inside#1"))

and many, in processes that are given up once a schedule left its mark on them (``workers``)::

    with exploring("state") as stage, Workers(stage) as workers:
        workers.import_for(program)
        told = explore(program, workers.play)                 # ``explorer``
        for cause in told.causes: ...

Modules: ``played`` (records) · ``choices`` (choosers) · ``baton`` (hand-over), ``participant``,
``standing`` (stuck or busy) · ``gates`` (locks) · ``points/`` (where threads stop) · ``watched``
(States, fast) · ``program``, ``schedule``, ``workers``, ``explorer`` · ``strategies/`` ·
``coverage`` · ``cause`` (one fingerprint, many symptoms) · ``token`` · ``minimise`` · ``sources``,
``places``, ``emit``, ``collisions``, ``verify`` (scripts). ``pair`` and ``interference*`` stop one
operation at every point with a driver of their own; ``scheduled`` is the target that uses this.
"""
