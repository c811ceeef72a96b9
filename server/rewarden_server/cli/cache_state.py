"""The state of the shared cache, for `rewarden doctor`: whether it answers and accepts our credentials."""

from __future__ import annotations

from rewarden_server.config import Config
from rewarden_server.engine.cache_redis import RedisCache

_MENDS = {
    "AuthenticationError": "correct the password (engine.cache_redis, engine.cache_redis_password_file)",
    "NoPermissionError": "allow the user to read and write keys that begin with rewarden:",
}


async def cache_state(config: Config) -> tuple[str, list[tuple[str, str]]]:
    """Returns a description of the cache, and what is missing, each with the fix. Neither address nor password is
    repeated."""
    if not config.engine.cache or config.engine.cache_redis is None:
        return "not shared (no engine.cache_redis)", []
    cache = RedisCache.of(config.engine)
    try:
        problem = await cache.probe()
    finally:
        await cache.close()
    signed = "signed" if config.engine.cache_key_file is not None else "not signed (no engine.cache_key_file)"
    if problem is None:
        return f"shared in Redis, which answers; outcomes are {signed}", []
    mend = _MENDS.get(
        problem, "start Redis, or correct engine.cache_redis; until then, each server has only its own cache"
    )
    return "shared, but Redis does not answer", [(f"engine.cache_redis: {problem}", mend)]
