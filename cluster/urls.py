"""Every address of the site: pages at the root, the REST API below /api/."""

from django.urls import include, path

urlpatterns = [
    path("api/", include("cluster.api.urls")),
    path("", include("cluster.pages.urls")),
]
