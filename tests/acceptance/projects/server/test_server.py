import pytest
import torch
from server import Server


@pytest.fixture
def server():
    server = Server()
    server.load("one", 1.0)
    return server


def test_an_unknown_model_is_an_error(server):
    with pytest.raises(KeyError):
        server.infer("nobody", torch.ones(4))


def test_it_answers_while_another_model_is_loaded(server):
    assert server.infer("one", torch.ones(4)).tolist() == [4.0] * 4
    server.load("two", 2.0)
    assert server.infer("two", torch.ones(4)).tolist() == [8.0] * 4
