import unittest

from trainer import Replica, train


class TrainerTest(unittest.TestCase):
    def test_replicas_of_one_seed_agree(self):
        first, second = train([Replica(3), Replica(3)])
        self.assertEqual(first, second)

    def test_a_step_gives_the_loss_of_its_batch(self):
        replica = Replica(3)
        self.assertAlmostEqual(replica.step(), replica.step())
