"""The state of the shared cache, for `rewarden doctor`: whether it answers and accepts our credentials."""

from __future__ import annotations

from rewarden_server.config import Config
from rewarden_server.engine.cache_redis import RedisCache
from rewarden_server.observe.check import Check, Problem

_MENDS = {
    "AuthenticationError": "correct the password (engine.cache_redis, engine.cache_redis_password_file)",
    "NoPermissionError": "allow the user to read and write keys that begin with rewarden:",
}


async def cache_state(config: Config) -> Check:
    """Returns the state of the cache. Neither address nor password is repeated."""
    if not config.engine.cache or config.engine.cache_redis is None:
        return Check("cache", "not shared (no engine.cache_redis)", used=False)
    cache = RedisCache.of(config.engine)
    try:
        problem = await cache.probe()
    finally:
        await cache.close()
    signed = "signed" if config.engine.cache_key_file is not None else "not signed (no engine.cache_key_file)"
    if problem is None:
        return Check("cache", f"shared in Redis, which answers; outcomes are {signed}")
    mend = _MENDS.get(
        problem, "start Redis, or correct engine.cache_redis; until then, each server has only its own cache"
    )
    return Check(
        "cache", "shared, but Redis does not answer", problems=(Problem(f"engine.cache_redis: {problem}", mend),)
    )
