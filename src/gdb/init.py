# gdb/init.py - what `hark back` tells gdb when it starts it.
#
# Carried inside hark as text, and run by gdb's own Python. It connects, and
# defines the commands that only a recording can answer. gdb does not know
# that a `seek` has moved the program, so everything that it remembers of
# registers, memory, threads and libraries is thrown away then.
import os
import re
import sys
import time

import gdb


def quietly(command):
    """What it says; nothing, if it fails, or says what is no text (a path may
    be anything)."""
    try:
        return gdb.execute(command, to_string=True)
    except (gdb.error, UnicodeError):
        return ""


def monitor(words):
    """What the server says. Ctrl-C makes gdb forget that it waits for it, but
    the answer comes nevertheless: it is passed over."""
    try:
        return gdb.execute("monitor " + words, to_string=True).strip()
    except KeyboardInterrupt:
        word = f"here-{time.monotonic_ns()}"
        for _ in range(20):
            if quietly("monitor echo " + word).strip() == word:
                break
        raise gdb.GdbError("hark: interrupted") from None


def answer(words):
    """What monitor says; its complaints become gdb's errors."""
    text = monitor(words)
    if text.startswith("hark: "):
        raise gdb.GdbError(text)
    return text


def shown(text):
    """Text of the recording, without characters that act on a terminal."""
    return "".join(c if c.isprintable() else
                   c.encode("unicode_escape").decode() for c in text)


def moved_thread():
    """The tid of the thread that moves."""
    found = re.search(r"^\* \d+ tid (\d+),", monitor("threads"), re.M)
    return int(found.group(1)) if found else 0


def forget():
    """Nothing that gdb remembers is true any more."""
    quietly("maintenance flush register-cache")
    quietly("maintenance flush dcache")
    quietly("info threads")
    tid = moved_thread()
    for thread in gdb.selected_inferior().threads():
        if thread.ptid[1] == tid and thread.is_valid():
            thread.switch()
    quietly("sharedlibrary")
    quietly("maintenance flush register-cache")


def show_place():
    try:
        gdb.execute("frame")
    except gdb.error as e:
        print(e)


def go(position, is_shown=True):
    answer("seek " + position)
    forget()
    if is_shown:
        show_place()


class Command(gdb.Command):
    """A command of hark's; its text is its help."""

    kind = gdb.COMMAND_RUNNING
    completes = gdb.COMPLETE_NONE

    def __init__(self, name):
        super().__init__(name, self.kind, self.completes)


class When(Command):
    """Say at which position of the recording the program is."""

    def invoke(self, words, from_tty):
        print(answer("when"))


class Seek(Command):
    """Go to a position: seek THREAD:COUNT, THREAD:COUNT+STEP, start, end, NN%.
`when` says where that is now."""

    def invoke(self, words, from_tty):
        if not words.strip():
            raise gdb.GdbError("seek where? A position, start, end or NN%.")
        go(words.strip())


class Run(Command):
    """Begin anew, at the start of the recording, and go on from there."""

    def invoke(self, words, from_tty):
        if words.strip():
            raise gdb.GdbError("hark: the program has the arguments that it "
                               "was recorded with.")
        self.begin()
        gdb.execute("continue", from_tty)

    @staticmethod
    def begin():
        go("start", False)


class Start(Run):
    """Begin anew, and stop in main."""

    def begin(self):
        gdb.execute("tbreak main")
        go("start", False)


class Starti(Command):
    """Go to the start of the recording."""

    def invoke(self, words, from_tty):
        go("start")


def place_of(words):
    """Address and size of what an expression means, or points to."""
    if not words.strip():
        raise gdb.GdbError("Of what? A variable or an address, please.")
    value = gdb.parse_and_eval(words)
    if value.address is not None:
        return int(value.address), value.type.sizeof
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR:
        target = kind.target().strip_typedefs()
        is_void = target.code == gdb.TYPE_CODE_VOID
        return int(value), 1 if is_void else max(1, target.sizeof)
    if kind.code == gdb.TYPE_CODE_INT:
        return int(value), 1
    raise gdb.GdbError(f"{words} is not in memory.")


class LastWrite(Command):
    """Find who wrote to EXPRESSION (a variable, or an address) last, before now.
`seek` leads to the position that is printed."""

    completes = gdb.COMPLETE_EXPRESSION

    def invoke(self, words, from_tty):
        address, size = place_of(words)
        text = answer(f"last-write {address:#x} {size}")
        found = re.match(r"(\S+) pc (0x[0-9a-f]+) (.*)", text, re.S)
        if not found:
            print(text)
            return
        at, pc, rest = found.groups()
        print(f"{at} {self.where(int(pc, 16))} {rest}")

    @staticmethod
    def where(pc):
        symbol = quietly(f"info symbol {pc:#x}").split(" in section")[0].strip()
        line = gdb.find_pc_line(pc)
        text = f"in {symbol}" if symbol and "No symbol" not in symbol else ""
        if line.symtab is not None:
            text += f" at {line.symtab.filename}:{line.line}"
        return shown(text.strip()) or f"at {pc:#x}"


class ReverseFinish(Command):
    """Go back to just before the selected function was called."""

    def invoke(self, words, from_tty):
        frame = gdb.selected_frame()
        caller = frame.older()
        if caller is None:
            raise gdb.GdbError('"finish" not meaningful in the outermost '
                               "frame.")
        if frame.type() != gdb.NORMAL_FRAME or caller.find_sal().symtab or \
                not self.seek_call(frame, caller):
            self.let_gdb(from_tty)

    @staticmethod
    def let_gdb(from_tty):
        gdb.execute("set exec-direction reverse", False, True)
        try:
            gdb.execute("finish", from_tty)
        finally:
            gdb.execute("set exec-direction forward", False, True)

    @staticmethod
    def seek_call(frame, caller):
        """Without lines gdb does not notice that it has arrived, if the call
        went through a linkage table. But the call has written the return
        address, and was the last to do so."""
        where = int(caller.read_register("rsp")) - 8
        found = re.match(r"(\S+) pc (0x[0-9a-f]+) ",
                         answer(f"last-write {where:#x} 8"))
        if not found:
            return False
        code = frame.architecture().disassemble(int(found.group(2), 16))
        if not code[0]["asm"].startswith("call"):
            return False
        name = frame.name() or hex(frame.pc())
        print(f"Run back to call of #0  {shown(name)}")
        go(found.group(1))
        return True


# -- Checkpoints: positions with a number --

checkpoints = {}


class Checkpoint(Command):
    """Remember this position; `restart N` returns to it."""

    def invoke(self, words, from_tty):
        number = max(checkpoints, default=0) + 1
        place = ""
        try:
            frame = gdb.selected_frame()
            line = frame.find_sal()
            place = f" in {frame.name()}" if frame.name() else ""
            if line.symtab is not None:
                place += f" at {line.symtab.filename}:{line.line}"
        except gdb.error:
            pass
        checkpoints[number] = (answer("when"), shown(place))
        print(f"Checkpoint {number} at {checkpoints[number][0]}{place}")


class Restart(Command):
    """Return to a checkpoint: restart N."""

    def invoke(self, words, from_tty):
        go(checkpoints[checkpoint_number(words)][0])


class InfoCheckpoints(Command):
    """List checkpoints."""

    kind = gdb.COMMAND_STATUS

    def invoke(self, words, from_tty):
        for number, (at, place) in sorted(checkpoints.items()):
            print(f"{number} at {at}{place}")
        if not checkpoints:
            print("No checkpoints.")


class DeleteCheckpoint(Command):
    """Forget a checkpoint: delete checkpoint N."""

    def invoke(self, words, from_tty):
        del checkpoints[checkpoint_number(words)]


def checkpoint_number(words):
    try:
        number = int(words)
    except ValueError:
        raise gdb.GdbError("Which checkpoint? Its number, please.") from None
    if number not in checkpoints:
        raise gdb.GdbError(f"There is no checkpoint {number}.")
    return number


class Unknown(Command):
    """Say how bytes read that the program never touched: unknown error|mark|zero.
They are not in the recording. With `mark` (the default) they read as '?'
(0x3f) in a structure or array that is known in part, and cannot be accessed
otherwise; with `error` they never can; with `zero` they are made up.
`known EXPRESSION` says which they are."""

    kind = gdb.COMMAND_DATA

    def invoke(self, words, from_tty):
        text = answer("unknown " + words)
        if text:
            print(text)
        forget()


class Known(Command):
    """Print the bytes of EXPRESSION, with ?? for those that are not known."""

    kind = gdb.COMMAND_DATA
    completes = gdb.COMPLETE_EXPRESSION

    def invoke(self, words, from_tty):
        address, size = place_of(words)
        print(answer(f"known {address:#x} {min(size, 4096)}"))


class Record(Command):
    """gdb's own recording is of no use here: all of this is recorded."""

    def invoke(self, words, from_tty):
        raise gdb.GdbError("hark: this is a recording already; reverse-step, "
                           "reverse-continue and seek go back in it.")


# -- Sources from the recording --


def quoted(path):
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def use_sources():
    """Each directory that has some is looked for where they were unpacked;
    the longest path comes first, for gdb takes the first that fits."""
    where = os.environ.get("HARK_BACK_SOURCES")
    if not where:
        return
    with open(where + "/rules", encoding="utf-8",
              errors="surrogateescape") as f:
        rules = set(f.read().split("\n")) - {""}
    for path in sorted(rules, key=len, reverse=True):
        try:
            gdb.execute(f"set substitute-path {quoted(path)} "
                        f"{quoted(where + '/files' + path)}")
        except (gdb.error, UnicodeError):
            pass  # a name that gdb's Python cannot say


# -- What gdb loads by itself only for files of this machine --

printers = set()


def is_plain(path):
    """Is it a whole path without "." and "..", and without characters that
    mean something in a command?"""
    return path.startswith("/") and path.isprintable() and \
        not {"", ".", ".."} & set(path.split("/")[1:])


def printers_of(path):
    """The script that is installed here for a file of that path, or None. A
    path of the recording is not trusted: it must not lead out of the directory
    of installed scripts."""
    script = f"{gdb.parameter('data-directory')}/auto-load{path}-gdb.py"
    return script if is_plain(path) and os.path.isfile(script) else None


def load_printers(event):
    """Pretty-printers that are installed here, for a library of the
    recording."""
    path = event.new_objfile.filename or ""
    if path.startswith("target:"):
        path = path[len("target:"):]
    script = printers_of(path)
    if script is None or script in printers:
        return
    printers.add(script)
    # libstdc++'s looks for its modules only if gdb itself loads it.
    with open(script, encoding="utf-8", errors="replace") as f:
        found = re.search(r"^pythondir = '(/[^']*)'", f.read(), re.M)
    if found and found.group(1) not in sys.path:
        sys.path.insert(0, found.group(1))
    quietly("source " + script)


SETTINGS = (
    "set may-write-registers off",  # one clear line, before anything is sent
    "set may-write-memory off",
    "set may-call-functions off",
    "set sysroot target:",  # files are those of the recording
    "set remotetimeout 100000",  # a search may take its time
    # Files of the recording, and those that they name, bring no scripts and no
    # libraries to be run here, also where the user trusts all files of this
    # machine (safe-path /).
    "set auto-load libthread-db off",
    "set auto-load gdb-scripts off",
    "set auto-load guile-scripts off",
    "set auto-load python-scripts off",
    "set stack-cache off",  # reads more than is asked for, and marks it known
    "set code-cache off",
    "set breakpoint condition-evaluation target",
    # Not the code that finds functions at their first call.
    "skip -rfu ^_dl_runtime_resolve",
    "skip -rfu ^_dl_fixup",
    "skip -gfile */sysdeps/*",
)

HOOKS = """
define hook-quit
set confirm off
end
define hook-generate-core-file
monitor unknown zero
end
define hookpost-generate-core-file
monitor unknown mark
end
"""


def define_hooks():
    for body in re.findall(r"^define .*?^end$", HOOKS, re.S | re.M):
        gdb.execute(body)


def begin():
    has_printers = gdb.parameter("auto-load python-scripts")
    for setting in SETTINGS:
        quietly(setting)
    Record("record")
    When("when")
    Seek("seek")
    Run("run")
    Start("start")
    Starti("starti")
    LastWrite("last-write")
    ReverseFinish("reverse-finish")
    Unknown("unknown")
    Known("known")
    Checkpoint("checkpoint")
    Restart("restart")
    InfoCheckpoints("info checkpoints")
    DeleteCheckpoint("delete checkpoint")
    define_hooks()
    use_sources()
    if has_printers:
        gdb.events.new_objfile.connect(load_printers)
    print(os.environ.get("HARK_BACK_TITLE", "hark"))
    # gdb says itself where it is; what it captures is how it gets its files.
    try:
        gdb.execute("target extended-remote " + os.environ["HARK_BACK_SOCKET"],
                    to_string=True)
    except UnicodeError:
        pass  # it is connected; a path is no text
    quietly("monitor unknown mark")
    if sys.stdout.isatty():
        quietly("monitor progress on")


begin()
