"""Addresses of the websockets."""

from django.urls import path

from cluster.consumers import LiveConsumer

websocket_urlpatterns = [path("ws/live/", LiveConsumer.as_asgi())]
