"""Celery's entry points. Each is a hint: what it does may be done twice or a little later."""

from celery import shared_task

from cluster.engines.registry import get_engine


@shared_task(ignore_result=True)
def run_tick() -> None:
    from cluster.pipeline.tick import run_tick as tick

    tick(get_engine())


@shared_task(ignore_result=True)
def submit_due_arrivals() -> None:
    from cluster.demo.arrivals import submit_due

    submit_due(get_engine().now())


@shared_task(ignore_result=True)
def refresh_forecasts() -> None:
    from cluster.pipeline.forecasts import refresh

    refresh(get_engine().now())


@shared_task(ignore_result=True)
def tidy() -> None:
    from cluster.pipeline.housekeeping import tidy as let_go

    let_go()
