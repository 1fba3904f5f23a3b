"""Events are told in the order of their ids, each once, although PostgreSQL commits them out of order."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from cluster.stream.order import LONGEST_GAP_S, InOrder


@dataclass(frozen=True)
class Row:
    id: int


def rows(*ids: int) -> list[Row]:
    return [Row(i) for i in ids]


def ids(settled: list[Row]) -> list[int]:
    return [row.id for row in settled]


def test_a_row_behind_a_gap_waits_until_the_gap_is_filled():
    order = InOrder(5, gaps_fill=True)
    assert ids(order.settle(rows(6, 8, 9), 0.0, None)) == [6]
    assert order.is_waiting
    assert ids(order.settle(rows(7, 8, 9), 1.0, None)) == [7, 8, 9]
    assert not order.is_waiting


def test_a_gap_is_given_up_after_ten_seconds():
    order = InOrder(5, gaps_fill=True)
    assert ids(order.settle(rows(7), 0.0, None)) == []
    assert ids(order.settle(rows(7), LONGEST_GAP_S - 0.1, None)) == []
    assert ids(order.settle(rows(7), LONGEST_GAP_S, None)) == [7]


def test_gaps_are_waited_for_side_by_side_not_one_after_the_other():
    order = InOrder(0, gaps_fill=True)
    assert ids(order.settle(rows(2, 4, 6), 0.0, None)) == []
    assert ids(order.settle(rows(2, 4, 6, 8), LONGEST_GAP_S, None)) == [2, 4, 6]


def test_a_rolled_back_id_holds_nobody_up_once_those_who_wrote_at_its_time_have_ended():
    order = InOrder(5, gaps_fill=True)
    assert ids(order.settle(rows(7), 0.0, None)) == []
    assert ids(order.settle(rows(7), 1.0, frozenset({"a", "b"}))) == []
    assert ids(order.settle(rows(7), 2.0, frozenset({"b", "later"}))) == []
    assert ids(order.settle(rows(7), 3.0, frozenset({"later"}))) == [7]


def test_with_nobody_writing_a_gap_is_final_at_second_sight():
    order = InOrder(5, gaps_fill=True)
    assert ids(order.settle(rows(7), 0.0, None)) == []
    assert ids(order.settle(rows(7), 0.1, frozenset())) == [7]


def test_where_commits_are_in_order_a_gap_is_a_deleted_row_and_nothing_waits():
    order = InOrder(5, gaps_fill=False)
    assert ids(order.settle(rows(9, 12), 0.0, None)) == [9, 12]


@given(st.permutations(range(1, 13)), st.sets(st.integers(1, 12), max_size=4))
def test_whatever_the_order_of_commits_all_are_told_once_and_in_order(commits, rolled_back):
    order, visible, told = InOrder(0, gaps_fill=True), set(), []
    for second, number in enumerate(commits):
        if number not in rolled_back:
            visible.add(number)
        waiting = sorted(i for i in visible if i > order.cursor)
        told += ids(order.settle(rows(*waiting), second * 0.1, None))
    waiting = sorted(i for i in visible if i > order.cursor)
    told += ids(order.settle(rows(*waiting), 100.0, None))
    told += ids(order.settle(rows(*waiting), 200.0, None))
    assert told == sorted(set(range(1, 13)) - rolled_back)
