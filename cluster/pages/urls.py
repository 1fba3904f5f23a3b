"""Addresses of the pages."""

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, path

from cluster.pages import account, job, nodes, queue, status, submit, tenants, today

urlpatterns: list[URLPattern | URLResolver] = [
    path("", today.today, name="today"),
    path("figures/capacity/", today.capacity_figure, name="capacity-figure"),
    path("capacity.csv", today.capacity_csv, name="capacity-csv"),
    path("queue/", queue.queue_page, name="queue"),
    path("figures/timeline/", queue.timeline_figure, name="timeline-figure"),
    path("jobs/new/", submit.new_job, name="job-new"),
    path("jobs/<int:pk>/", job.job_page, name="job"),
    path("jobs/<int:pk>/cancel/", job.cancel, name="job-cancel"),
    path("jobs/<int:pk>/hold/", job.hold, name="job-hold"),
    path("jobs/<int:pk>/release/", job.release, name="job-release"),
    path("tenants/", tenants.tenants_page, name="tenants"),
    path("tenants/<str:name>/", tenants.tenant_page, name="tenant"),
    path("nodes/", nodes.nodes_page, name="nodes"),
    path("nodes/<str:name>/", nodes.node_page, name="node"),
    path("nodes/<str:name>/drain/", nodes.drain, name="node-drain"),
    path("nodes/<str:name>/resume/", nodes.resume, name="node-resume"),
    path("status/", status.status_page, name="status"),
    path("login/", account.SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("tokens/", account.account, name="tokens"),
    path("tokens/new/", account.new_token, name="token-new"),
    path("tokens/<str:token_key>/revoke/", account.revoke_token, name="token-revoke"),
    path("account/time-zone/", account.set_zone, name="time-zone"),
]
