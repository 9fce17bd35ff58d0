"""The form that submits a job: what to run, on how many cards, and what it costs before the button."""

import asyncio
import secrets
import tempfile
import time
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path

from nicegui import ui
from nicegui.events import UploadEventArguments

from starverse.faces import schemas as sc
from starverse.faces.console import more
from starverse.faces.console.controls import button, choice
from starverse.faces.console.frame import Frame
from starverse.faces.console.head import is_dark
from starverse.faces.console.markup import Markup, shown, tag
from starverse.faces.console.panels import page_title, panel
from starverse.faces.console.parcels import ZIP_BYTES_MAX, Parcel
from starverse.faces.console.quote import quote
from starverse.faces.console.wishes import WAYS, Wishes
from starverse.model.errors import StarverseError

PREVIEW_AFTER_S = 0.4


async def build(frame: Frame) -> None:
    """Fill the page."""
    cluster, wallet, names, account, booked = await asyncio.gather(
        frame.ask(frame.api.cluster),
        frame.ask(frame.api.wallet),
        frame.ask(frame.api.secrets),
        frame.ask(frame.api.whoami),
        frame.ask(frame.api.reservations),
    )
    frame.head.purse(wallet)
    _Form(frame, cluster, tuple(secret.name for secret in names), account, booked)


class _Form:
    """Mutable owner of one open form: its wishes, the parcel to send, and what makes it one job."""

    def __init__(
        self,
        frame: Frame,
        cluster: sc.Cluster,
        names: tuple[str, ...],
        account: sc.Account,
        booked: tuple[sc.Reservation, ...],
    ) -> None:
        self._frame = frame
        draft = frame.session.draft.get("submit")
        self._wishes = deepcopy(draft) if isinstance(draft, Wishes) else Wishes()  # two tabs are two forms
        self._parcel = Parcel()
        self._nonce = secrets.token_hex(8)
        self._busy = False
        self._asked = 0
        self._timer: ui.timer | None = None
        self._error: ui.html | None = None
        frame.tab.on_delete(self._parcel.close)
        frame.follow(None, self._hear, self._preview)
        page_title(frame.say("submit.title"), frame.say("submit.under"))
        with ui.element("div").classes("sv-split"):
            with ui.element("div").classes("sv-split-main"):
                self._what()
                self._where(cluster, account)
                self._around(names)
                more.fields(frame.say, self._wishes.more, self._changed, cluster, booked)
            with ui.element("div").classes("sv-split-side"), panel(frame.say("submit.cost"), "sv-sticky"):
                self._quote = shown(Markup(""), "sv-quote").props("aria-live=polite")
                self._button = button(frame.say("submit.go"), self._submit).classes("sv-main-button")
                self._error = shown(Markup("")).classes("sv-error").props("role=alert")
        self._timer = ui.timer(PREVIEW_AFTER_S, self._preview, once=True)

    # -- fields -------------------------------------------------------------------------------------------

    def _what(self) -> None:
        say = self._frame.say
        places: dict[str, ui.element] = {}

        def show(way: str) -> None:
            self._set("way", way)
            for name, place in places.items():
                place.set_visibility(name == way)

        with panel(say("submit.what")):
            ways = {way: say(f"submit.way_{way}") for way in WAYS}
            choice(ways, self._wishes.way, show, say("submit.what"))
            for way, fill in zip(WAYS, (self._script, self._command, self._folder), strict=True):
                places[way] = ui.element("div").classes("sv-stack")
                with places[way]:
                    fill()
        show(self._wishes.way)

    def _script(self) -> None:
        say = self._frame.say
        editor = ui.codemirror(self._wishes.script, language="Python", theme="githubLight")

        async def restyle() -> None:
            editor.theme = "githubDark" if await is_dark() else "githubLight"

        self._frame.on_look(restyle)
        self._frame.tab.on_connect(restyle)
        editor.classes("sv-editor").props(f'aria-label="{say("submit.script")}"')
        editor.on_value_change(lambda event: self._set("script", event.value))
        with ui.element("div").classes("sv-row"):
            self._text("file", say("submit.file"))
            self._text("arguments", say("submit.arguments"), "--steps 400").classes("sv-grow")

    def _command(self) -> None:
        say = self._frame.say
        self._text("command", say("submit.command"), "python3 -c 'print(6 * 7)'").classes("sv-mono")
        shown(tag("p", say("submit.command_text"), cls="sv-dim"))

    def _folder(self) -> None:
        say = self._frame.say
        upload = ui.upload(
            label=say("submit.zip"),
            on_upload=self._unpack,
            on_rejected=lambda: self._complain(say("submit.zip_rejected")),
            auto_upload=True,
            max_file_size=ZIP_BYTES_MAX,
            max_files=1,
        )
        upload.props("accept=.zip flat bordered").classes("sv-upload")
        self._inside = shown(tag("p", say("submit.zip_text"), cls="sv-dim"))
        self._text("start", say("submit.start"), "train.py --steps 400").classes("sv-mono")

    def _where(self, cluster: sc.Cluster, account: sc.Account) -> None:
        say = self._frame.say
        with panel(say("submit.where")), ui.element("div").classes("sv-form-grid"):
            self._text("cards", say("submit.cards"), hint=say("submit.cards_hint"))
            kinds = {kind.kind: self._kind(kind) for kind in cluster.kinds}
            first = max(cluster.kinds, key=lambda kind: kind.cards).kind if cluster.kinds else None
            kind = self._wishes.kind if self._wishes.kind in kinds else first
            self._set("kind", kind or "")
            self._choice("kind", say("submit.kind"), kinds, kind)
            self._text("name", say("submit.name"), hint=say("submit.name_hint"))
            self._text("time_limit", say("submit.time_limit"), hint=say("submit.time_limit_hint"))
            classes = {name: say(f"priority.{name}") for name in ("on-demand", "preemptible", "reserved")}
            self._choice("priority", say("submit.priority"), classes, self._wishes.priority)
            if len(account.projects) > 1:
                projects = {member.project: member.name for member in account.projects}
                self._choice("project", say("submit.project"), projects, account.projects[0].project)

    def _kind(self, kind: sc.Kind) -> str:
        voice = self._frame.voice
        free, cards, price = voice.number(kind.free), voice.number(kind.cards), voice.money(kind.price)
        return voice.say("submit.kind_of", kind=kind.kind, free=free, cards=cards, price=price)

    def _around(self, names: tuple[str, ...]) -> None:
        say = self._frame.say
        with panel(say("submit.environment")), ui.element("div").classes("sv-stack"):
            area = ui.textarea(
                say("submit.variables"), value=self._wishes.environment, placeholder="SEED=1\nLR=2e-3"
            )
            area.props("outlined dense autogrow").classes("sv-field sv-mono")
            area.on_value_change(lambda event: self._set("environment", event.value or ""))
            if names:
                ui.select(list(names), label=say("submit.secrets"), multiple=True, value=[],
                          on_change=lambda event: self._set("secrets", tuple(event.value))).props(
                    "outlined dense use-chips").classes("sv-field")  # fmt: skip

    def _text(self, name: str, label: str, placeholder: str = "", hint: str = "") -> ui.input:
        field = ui.input(label, value=getattr(self._wishes, name), placeholder=placeholder).classes(
            "sv-field"
        )
        field.props("outlined dense" + (f' hint="{hint}"' if hint else ""))
        field.on_value_change(lambda event: self._set(name, event.value or ""))
        return field

    def _choice(self, name: str, label: str, options: dict[str, str], value: str | None) -> None:
        field = (
            ui.select(options, label=label, value=value)
            .props("outlined dense options-dense")
            .classes("sv-field")
        )
        field.on_value_change(lambda event: self._set(name, event.value or ""))

    def _set(self, name: str, value: object) -> None:
        if getattr(self._wishes, name) != value:
            setattr(self._wishes, name, value)
            self._changed()

    def _changed(self) -> None:
        self._wishes.changed_ms = time.time_ns() // 1_000_000
        self._frame.session.draft["submit"] = self._wishes
        self._complain("")
        if self._timer is not None:
            self._timer.cancel()
            with self._frame.content:
                self._timer = ui.timer(PREVIEW_AFTER_S, self._preview, once=True)

    async def _unpack(self, upload: UploadEventArguments) -> None:
        say = self._frame.say
        try:
            with tempfile.TemporaryDirectory(prefix="starverse-console-") as folder:
                path = Path(folder) / "upload.zip"
                await upload.file.save(path)
                await self._frame.ask(self._parcel.put_zip, path)
        except StarverseError as error:
            self._complain(self._frame.voice.error(error.what, error.remedy))
            return
        first = ", ".join(self._parcel.files[:6]) + (", …" if len(self._parcel.files) > 6 else "")
        count = self._frame.voice.count("submit.files", len(self._parcel.files))
        self._inside.set_content(tag("p", tag("b", count), " ", tag("span", first, cls="sv-dim")))
        scripts = [path for path in self._parcel.files if path.endswith(".py")]
        self._complain("" if scripts or self._wishes.start else say("submit.zip_no_script"))

    async def _hear(self, events: Sequence[sc.StreamEvent]) -> None:
        for event in events:
            if isinstance(event, sc.WalletChanged):
                self._frame.head.purse(event.wallet)

    # -- the cost, and the button -------------------------------------------------------------------------

    async def _preview(self) -> None:
        self._asked += 1
        turn = self._asked
        try:
            answer = quote(
                self._frame.voice, await self._frame.ask(self._frame.api.preview, self._wishes.ask())
            )
        except StarverseError as error:
            if self._frame.is_away or turn != self._asked:
                return
            answer = tag("p", self._frame.voice.error(error.what, error.remedy), cls="sv-quote-no")
        if turn == self._asked:  # a later change has been asked about meanwhile
            self._quote.set_content(answer)

    def _complain(self, text: str) -> None:
        if self._error is not None:
            self._error.set_content(tag("p", text) if text else Markup(""))

    async def _submit(self) -> None:
        if self._busy:  # a double click is one job
            return
        self._busy = True
        self._button.props("loading")
        self._complain("")
        try:
            job = await self._frame.ask(self._send)
        except StarverseError as error:
            self._complain(self._frame.voice.error(error.what, error.remedy))
            self._busy = False
            self._button.props(remove="loading")
        else:
            self._frame.session.draft.pop("submit", None)
            self._frame.go(f"/jobs/{job.job}")  # and stay busy: this form has made its job

    def _send(self) -> sc.Job:
        """On a thread: send the files, then the job, under a key that follows from what is asked for."""
        wishes, api = self._wishes, self._frame.api
        ask = wishes.ask(strict=True)
        if wishes.way == "script":
            self._parcel.put_script(wishes.file.strip(), wishes.script)
        snapshot = "" if wishes.way == "command" else self._parcel.send(api, ask.project).snapshot
        ask = wishes.ask(strict=True, snapshot=snapshot)
        return api.submit(ask, wishes.key(self._nonce, ask))
