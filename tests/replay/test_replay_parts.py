"""The parts around the replay loop: set-up, schemes, what is measured."""

from pathlib import Path

import pytest

from cluster.imports.loader import cluster_from
from cluster.replay.cluster_choice import choose_cluster
from cluster.replay.metrics import size_class, waits
from cluster.replay.report import duration, rows, share
from cluster.replay.run import run
from cluster.replay.schemes import schemes
from cluster.replay.setup import set_up
from cluster.scheduler.policy import Policy, Queueing
from cluster.scheduler.words import Tier
from cluster.traces import Trace, TraceJob
from cluster.traces.cluster_for import cluster_for
from cluster.traces.estimates import estimate_s

HOUR = 3600.0


def job(tenant="a", gpus=8, submit_s=0.0, duration_s=HOUR, **more):
    return TraceJob(job_id="j", tenant=tenant, submit_s=submit_s, gpus=gpus, duration_s=duration_s, **more)


def trace(*jobs):
    return Trace.of("csv", Path("t.csv"), list(jobs), [])


def small_cluster(nodes=2, entitlements=None):
    """So many nodes of 8, and tenants entitled as given."""
    shares = entitlements or {"a": nodes * 8}
    data = {
        "gpu_models": [{"name": "g"}],
        "racks": [{"name": "r"}],
        "pods": [
            {
                "name": "p",
                "blocks": [
                    {
                        "name": "b",
                        "nodes": [{"name": f"n[1-{nodes}]", "gpu_model": "g", "gpus": 8, "rack": "r"}],
                    }
                ],
            }
        ],
        "tenants": [{"name": name, "entitlement": {"g": gpus}} for name, gpus in shares.items()],
    }
    return cluster_from(data, "test").description


def replayed(jobs, key, **cluster):
    read = trace(*jobs)
    names = {name: name for name in read.tenants}
    setup = set_up(read, small_cluster(**cluster), names, ["g"] * len(jobs))
    scheme = next(scheme for scheme in schemes(Policy()) if scheme.key == key)
    return run(setup, scheme)


def test_a_job_that_never_fits_is_left_out_and_counted():
    read = trace(job(gpus=8), job(gpus=24), job(gpus=2, nodes=1, gpus_per_node=2))

    setup = set_up(read, small_cluster(), {"a": "a"}, ["g", "g", "gone"])

    assert [kept.gpus for kept in setup.jobs] == [8]
    assert any("Left out 1: asks for 24 GPUs of g" in note for note in setup.notes)
    assert any("Left out 1: asks for 2 GPUs of gone" in note for note in setup.notes)


def test_equal_jobs_share_one_shape_and_production_is_not_preemptible():
    read = trace(job(), job(), job(tier="production"))

    first, second, production = set_up(read, small_cluster(), {"a": "a"}, ["g"] * 3).shapes

    assert first is second
    assert (production.tier, production.preemptible, first.preemptible) == (Tier.PRODUCTION, False, True)


def test_tenants_that_the_cluster_does_not_name_are_entitled_to_nothing():
    setup = set_up(trace(job("b")), small_cluster(), {"b": "b"}, ["g"])

    assert setup.tenants["b"].entitlement == {}
    assert any("entitled to nothing: b" in note for note in setup.notes)


def test_the_baselines_are_policies():
    ours, fifo, easy, hard = schemes(Policy(reserve_after_s=7))

    assert (fifo.policy.queueing, fifo.policy.quotas, fifo.policy.preemption) == (Queueing.FIFO, False, False)
    assert (easy.policy.queueing, easy.policy.quotas) == (Queueing.EASY, False)
    assert (hard.policy.queueing, hard.policy.quotas, hard.policy.lending) == (Queueing.LOCKSTEP, True, False)
    assert {scheme.policy.reserve_after_s for scheme in (ours, fifo, easy, hard)} == {7}


def test_the_metrics_of_two_jobs_that_take_turns():
    metrics = replayed([job(gpus=16), job(gpus=16, submit_s=HOUR / 2)], "fifo")

    assert (metrics.jobs, metrics.wait.jobs, metrics.wait.never_started) == (2, 2, 0)
    assert metrics.gpu_hours == 32
    assert metrics.wait.longest_s == pytest.approx(HOUR / 2, abs=30)
    assert metrics.allocated_share == pytest.approx(1.0)
    assert metrics.done_s == pytest.approx(2 * HOUR, abs=60)
    assert metrics.largest_gang_gpus == 16


def test_strict_fifo_lets_nothing_pass_and_easy_lets_pass_what_ends_in_time():
    jobs = [
        job(gpus=8, duration_s=HOUR),
        job(gpus=16, submit_s=60),
        job(gpus=8, submit_s=120, duration_s=600),
    ]

    assert replayed(jobs, "fifo").wait_by_size["2-8"].longest_s > HOUR
    assert replayed(jobs, "easy").wait_by_size["2-8"].longest_s < 60


def test_hard_quotas_leave_idle_what_lockstep_lends():
    jobs = [job("a", gpus=8), job("a", gpus=8, submit_s=30)]
    halves = {"a": 8, "b": 8}

    ours = replayed(jobs, "lockstep", entitlements=halves)
    hard = replayed(jobs, "hard_quotas", entitlements=halves)

    assert (ours.loans_made, ours.wait.longest_s) == (1, 0)
    assert ours.loan_gpu_hours == pytest.approx(8)
    assert hard.loans_made == 0
    assert hard.wait.longest_s > HOUR / 2


def test_a_loan_called_back_is_counted_with_what_it_lost():
    jobs = [job("a", gpus=16, duration_s=2 * HOUR), job("b", gpus=8, submit_s=HOUR)]

    metrics = replayed(jobs, "lockstep", entitlements={"a": 8, "b": 8})

    assert metrics.loans_reclaimed == metrics.preemptions["reclaim"] == 1
    assert metrics.wait_by_size["2-8"].longest_s <= 120
    assert metrics.lost_gpu_hours == pytest.approx(16 * 120 / 3600)


def test_what_never_starts_is_counted_and_not_averaged():
    jobs = [job("a", gpus=8), job("b", gpus=8)]

    metrics = replayed(jobs, "hard_quotas", entitlements={"a": 16})

    assert (metrics.wait.jobs, metrics.wait.never_started) == (1, 1)


def test_waits_of_nothing_are_unknown_not_zero():
    assert (waits([]).mean_s, waits([]).p95_s) == (None, None)
    assert (duration(None), share(None)) == ("–", "–")


def test_words_of_the_report():
    assert [duration(s) for s in (0.4, 59, 61, 3600, 90_000)] == ["0s", "59s", "1m 01s", "1h 00m", "1d 1h"]
    assert [size_class(1, 1), size_class(2, 8), size_class(129, None)] == ["1", "2-8", "over 128"]
    scheme = schemes(Policy())[0]
    table = dict(rows([(scheme, replayed([job()], "lockstep"))]))
    assert table["jobs"] == ["1"]
    assert table["wait of 2-8 GPUs, mean"] == ["0s"]


def test_estimates_are_the_next_round_number():
    assert [estimate_s(s) for s in (0, 300, 301, 86_400, 86_401)] == [300, 300, 600, 86_400, 172_800]


def test_the_chosen_cluster_may_be_described_in_yaml(tmp_path):
    example = Path(__file__).resolve().parents[2] / "examples" / "cluster.yaml"
    read = trace(job("vision", gpu_model="h100"), job("Other"))

    chosen = choose_cluster(read, str(example))

    assert chosen.tenant_names == {"Other": "other", "vision": "vision"}
    assert set(chosen.models) <= {"h100", "a100"}
    assert any("name no GPU model" in note for note in chosen.notes)


def test_a_derived_cluster_holds_every_job_of_its_trace():
    read = trace(*[job(gpus=n) for n in (1, 3, 12, 40)])
    derived = cluster_for(read)
    description = cluster_from(derived.data, "derived").description

    assert len(set_up(read, description, derived.tenant_names, derived.models).jobs) == 4
