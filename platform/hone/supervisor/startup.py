"""The steps from nothing to "Hone is ready"; what does not wait for another runs beside it."""

import asyncio
import contextlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hone.supervisor import model, probe, services
from hone.supervisor.console import Console
from hone.supervisor.crew import POLL_S, Crew
from hone.supervisor.datadir import DataDir, secret_read
from hone.supervisor.demoenv import demo_env_update
from hone.supervisor.errors import StartError
from hone.supervisor.postgres import Postgres
from hone.supervisor.valkey import Valkey

PATIENCE_S = 180.0
CHECKS = 400


@dataclass(frozen=True, slots=True)
class UpOptions:
    """What `hone up` was asked for."""

    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 8000
    model: str | None = None
    engine: bool = True
    demo: bool = False


class Startup:
    """Brings one data folder's Hone up; raises StartError for what the person can mend."""

    def __init__(self, options: UpOptions, data: DataDir, console: Console, crew: Crew) -> None:
        self.data = data
        self.address = services.Address(options.host, options.port)
        self.plan = model.model_plan(data, options.model) if options.engine else None
        self._options = options
        self._console = console
        self._crew = crew
        database_url, redis_url = os.environ.get("DATABASE_URL"), os.environ.get("REDIS_URL")
        self._postgres = None if database_url else Postgres(data)
        self._valkey = None if redis_url else Valkey(data)
        self.env = services.environment_make(
            data=data,
            address=self.address,
            database_url=database_url or (self._postgres.url if self._postgres else ""),
            redis_url=redis_url or (self._valkey.url if self._valkey else ""),
            secret_key=os.environ.get("HONE_SERVER_SECRET") or secret_read(data),
        )
        if self.plan is not None:
            self.env["HONE_ENGINE_MODEL"] = str(self.plan.folder)

    async def run(self) -> dict[str, str]:
        """Start everything and return the values of demo.env; all of it answers then."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                async with asyncio.TaskGroup() as group:
                    credentials = group.create_task(self._database_and_web())
                    group.create_task(self._broker_and_workers())
            except* StartError as errors:
                raise first_error(errors) from None
            known = self._remember(credentials.result())
            return await self._check(known)

    async def stores(self) -> dict[str, str]:
        """Start the database and the broker alone; returns the environment for a command."""
        if self._postgres is not None:
            await self._start_postgres(self._postgres)
        if self._valkey is not None:
            await self._start_valkey(self._valkey)
        return self.env

    async def _database_and_web(self) -> dict[str, Any]:
        if self._postgres is not None:
            await self._start_postgres(self._postgres)
        setup = asyncio.create_task(self._setup())
        argv = services.web_argv(self._options.host, self._options.port)
        web = await self._crew.start(services.command("web", argv, self.env))
        credentials = await setup
        await self._crew.until(web, self._web_answers)
        self._console.step("web answers")
        return credentials

    async def _start_postgres(self, postgres: Postgres) -> None:
        doing = "making a new database" if postgres.is_new else "starting"
        self._console.step(f"PostgreSQL: {doing}")
        for remark in await asyncio.to_thread(postgres.prepare):
            self._console.step(remark)
        child = await self._crew.start(postgres.command())
        await self._crew.until(child, lambda: asyncio.to_thread(postgres.is_ready, child.pid))
        await asyncio.to_thread(postgres.database_ensure)
        self._console.step("PostgreSQL answers")

    async def _start_valkey(self, valkey: Valkey) -> None:
        child = await self._crew.start(valkey.command())
        await self._crew.until(child, lambda: asyncio.to_thread(valkey.is_ready))
        self._console.step("Valkey answers")

    async def _setup(self) -> dict[str, Any]:
        command = services.command("setup", services.setup_argv(), self.env)
        lines = await self._crew.run_once(command, "The database could not be set up")
        self._console.step("database is up to date")
        for line in reversed(lines):
            with contextlib.suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, dict) and "created" in found:
                    return found
        return {"created": False}

    async def _broker_and_workers(self) -> None:
        if self._valkey is not None:
            await self._start_valkey(self._valkey)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._worker())
            group.create_task(self._engine())

    async def _worker(self) -> None:
        argv = services.worker_argv()
        command = services.command("worker", argv, self.env, services.CELERY_READY)
        await self._crew.until_ready(await self._crew.start(command))
        self._console.step("worker is ready")

    async def _engine(self) -> None:
        if self.plan is None:
            if self._options.engine:
                self._console.step(model.advice())
            return
        await self._import_model(self.plan)
        argv = services.gpu_worker_argv()
        command = services.command("gpu", argv, self.env, services.ENGINE_READY)
        await self._crew.until_ready(await self._crew.start(command))
        self._console.step(f"engine answers with {self.plan.name}")

    async def _import_model(self, plan: model.ModelPlan) -> None:
        if plan.source is None:
            return
        self._console.step(f"importing {plan.source.name}")
        shutil.rmtree(model.unfinished(plan), ignore_errors=True)
        failure = f"{plan.source.name} could not be imported"
        await self._crew.run_once(model.import_command(plan, self.env), failure)
        model.import_finish(plan)
        self._console.step("model imported")

    async def _web_answers(self) -> bool:
        answer = await asyncio.to_thread(probe.ask, self.address.url, "/health", timeout_s=2.0)
        return answer.status == 200

    def _remember(self, credentials: Mapping[str, Any]) -> dict[str, str]:
        found = {"HONE_URL": self.address.url}
        if credentials.get("created"):
            for key in ("email", "password", "public_key", "secret_key"):
                found[f"HONE_{key.upper()}"] = str(credentials.get(key) or "")
        return demo_env_update(self.data.demo_env, found)

    async def _check(self, known: dict[str, str]) -> dict[str, str]:
        """Ask once as a client would: the gateway must list the engine's model."""
        secret = known.get("HONE_SECRET_KEY")
        if self.plan is None or not secret:
            return known
        problem: Any = None
        for _ in range(CHECKS):
            answer = await asyncio.to_thread(
                probe.ask, self.address.url, "/v1/models", secret=secret
            )
            if answer.status == 401:
                return known  # the first key was revoked; that is its owner's business
            if answer.status == 200 and answer.body["data"]:
                name = str(answer.body["data"][0]["id"])
                return demo_env_update(self.data.demo_env, {"HONE_MODEL": name})
            problem = answer.body
            await asyncio.sleep(POLL_S)
        raise StartError(f"The gateway does not list the engine's model: {problem}")


def first_error(group: BaseExceptionGroup[StartError]) -> StartError:
    """The first error in a group of groups, which parallel steps make of it."""
    found = group.exceptions[0]
    return first_error(found) if isinstance(found, BaseExceptionGroup) else found
