"""Settings, read from the environment. README.md lists the variables; `manage.py doctor` shows the result."""

from datetime import timedelta
from pathlib import Path

import environ
from csp.constants import NONE, SELF, UNSAFE_INLINE

from cluster.deployment import Mode, data_directory, database, mode_of, secret_key

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

# --- This installation -------------------------------------------------------------------------------
REDIS_URL = env.str("REDIS_URL", default="")
LOCKSTEP_MODE = mode_of(REDIS_URL)
LOCKSTEP_DATA = data_directory(env.str("LOCKSTEP_DATA", default=""), BASE_DIR)
# Local: the site serves this machine alone, over plain HTTP on the loopback address.
LOCKSTEP_LOCAL = env.bool("LOCKSTEP_LOCAL", default=LOCKSTEP_MODE is Mode.EMBEDDED)
LOCKSTEP_ENGINE = env.str("LOCKSTEP_ENGINE", default="simulated")
PORT = env.int("PORT", default=8000)

DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = secret_key(env.str("LOCKSTEP_SECRET_KEY", default=""), LOCKSTEP_DATA, local=LOCKSTEP_LOCAL)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=[])
if LOCKSTEP_LOCAL:
    ALLOWED_HOSTS += ["localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

# --- Applications ------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "tenancy",
    "fabric",
    "fleet",
    "cluster",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "rest_framework",
    "django_filters",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "channels",
    "csp",
    "axes",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "cluster.staticfiles.StaticFiles",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "cluster.urls"
ASGI_APPLICATION = "cluster.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# --- Data --------------------------------------------------------------------------------------------
DATABASES = {
    "default": database(env.db("DATABASE_URL", default=f"sqlite:///{LOCKSTEP_DATA / 'lockstep.sqlite3'}"))
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
if LOCKSTEP_MODE is Mode.SERVER:
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}}
    CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [REDIS_URL], "prefix": "lockstep"},
        }
    }
else:
    CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

# --- Background work ---------------------------------------------------------------------------------
if LOCKSTEP_MODE is Mode.SERVER:
    CELERY_BROKER_URL = REDIS_URL
else:
    _broker = LOCKSTEP_DATA / "broker"
    for _folder in ("queue", "control"):
        (_broker / _folder).mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_URL = "filesystem://localhost/"  # a host that means nothing, or the worker warns
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(_broker / "queue"),
        "data_folder_out": str(_broker / "queue"),
        "control_folder": str(_broker / "control"),
    }
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "lockstep"
CELERY_TIMEZONE = "UTC"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE_FILENAME = str(LOCKSTEP_DATA / "beat-schedule")
# A periodic task that could not run in time is dropped: its successor does the same work on newer rows.
CELERY_BEAT_SCHEDULE = {
    "tick": {"task": "cluster.tasks.run_tick", "schedule": 1.0, "options": {"expires": 5}},
    "arrivals": {"task": "cluster.tasks.submit_due_arrivals", "schedule": 1.0, "options": {"expires": 5}},
    "forecasts": {"task": "cluster.tasks.refresh_forecasts", "schedule": 15.0, "options": {"expires": 15}},
    "tidy": {"task": "cluster.tasks.tidy", "schedule": 3600.0, "options": {"expires": 600}},
}

# --- People ------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "tenancy.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "today"
LOGOUT_REDIRECT_URL = "login"
AXES_FAILURE_LIMIT = env.int("LOGIN_FAILURE_LIMIT", default=10)
AXES_COOLOFF_TIME = timedelta(minutes=15)
# Name and address together: nobody can lock somebody else out by guessing wrong on purpose.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False

# --- REST API ----------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "knox.auth.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["cluster.api.access.HasRole"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "cluster.api.negotiation.Negotiation",
    "DEFAULT_PAGINATION_CLASS": "cluster.api.pagination.Pages",
    "DEFAULT_FILTER_BACKENDS": [
        "django_filters.rest_framework.DjangoFilterBackend",
        "cluster.api.ordering.Ordering",
    ],
    "DEFAULT_SCHEMA_CLASS": "cluster.api.openapi.Schema",
    "DEFAULT_THROTTLE_CLASSES": [
        "rest_framework.throttling.AnonRateThrottle",
        "rest_framework.throttling.UserRateThrottle",
    ],
    "DEFAULT_THROTTLE_RATES": {
        "anon": env.str("API_ANON_RATE", default="60/min"),
        "user": env.str("API_USER_RATE", default="1200/min"),
    },
    # The address that the web server gives, which knows its proxies; X-Forwarded-For alone can be made up.
    "NUM_PROXIES": 0,
    "EXCEPTION_HANDLER": "cluster.api.errors.as_json",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
# Our own model takes the place of the library's, whose table would only stand in the way of a flush.
MIGRATION_MODULES = {"knox": None}
KNOX_TOKEN_MODEL = "tenancy.ApiToken"  # noqa: S105  # a model, not a secret
REST_KNOX = {"TOKEN_TTL": timedelta(days=90), "TOKEN_LIMIT_PER_USER": 20, "TOKEN_PREFIX": "lk_"}
SPECTACULAR_SETTINGS = {
    "TITLE": "Lockstep API",
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "ENFORCE_NON_BLANK_FIELDS": True,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "cluster.api.openapi.complete",
    ],
    "ENUM_NAME_OVERRIDES": {
        "JobState": "cluster.models.JobState",
        "RunState": "cluster.models.RunState",
        "RunOutcome": "cluster.models.RunOutcome",
        "NodeState": "fleet.models.NodeState",
        "CapacityState": "cluster.models.CapacityState",
        "Constraint": "cluster.api.job_rows.CONSTRAINTS",
        "DecisionOutcome": "cluster.models.Outcome",
        "JobKind": "cluster.models.Kind",
        "EvidenceKind": "fleet.models.EvidenceKind",
        "Locality": "cluster.models.Locality",
    },
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {
        "deepLinking": True,
        "defaultModelsExpandDepth": 0,
        "docExpansion": "none",
        "filter": True,
        "validatorUrl": None,  # the usual one is a site elsewhere
    },
    "REDOC_DIST": "SIDECAR",
}

# --- Static files: out of the apps and packages, or out of LOCKSTEP_STATIC after `collectstatic` -------
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "cluster.staticfiles.PlotlyFinder",
]
_collected = env.str("LOCKSTEP_STATIC", default="")
STATIC_ROOT = _collected or None
WHITENOISE_USE_FINDERS = not _collected
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_ALLOW_ALL_ORIGINS = False
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if _collected
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

# --- Trust -------------------------------------------------------------------------------------------
HTTPS = env.bool("LOCKSTEP_HTTPS", default=not LOCKSTEP_LOCAL)
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", default=31_536_000) if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_NAME = "lockstep_session"
CSRF_COOKIE_NAME = "lockstep_csrf"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF, UNSAFE_INLINE],  # Plotly styles its drawing by style attributes
        "img-src": [SELF, "data:", "blob:"],  # chart export
        "connect-src": [SELF],
        "font-src": [SELF],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

# --- Language and time -------------------------------------------------------------------------------
LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

# --- Logging: one line per event, or one JSON object per line -----------------------------------------
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
        "json": {"()": "cluster.log_format.JsonLines"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": env.str("LOCKSTEP_LOG_FORMAT", default="line"),
        }
    },
    "root": {"handlers": ["console"], "level": env.str("LOCKSTEP_LOG_LEVEL", default="INFO")},
    "loggers": {
        "celery.app.trace": {"level": "WARNING"},  # two lines for every tick say nothing
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
        "axes": {"level": "WARNING"},
    },
}
