# gdb/init.py - what `hark back` tells gdb when it starts it.
#
# Carried inside hark as text, and run by gdb's own Python. It connects, and
# defines the commands that only a recording can answer. gdb does not know
# that a `seek` has moved the program, so everything that it remembers of
# registers, memory, threads and libraries is thrown away then.
import itertools
import os
import re
import struct
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
They are not in the recording. With `mark` (the default) a structure or array
that is known in part can be read, and numbers in it that are not are printed as
??, but by /r and by front ends that print parts themselves as if their bytes
were '?' (0x3f); otherwise they cannot be accessed. With `error` they never can;
with `zero` they are made up.
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


# -- What would change what happened --

RECORDING = "hark: this is a recording: "
NO_CALLS = RECORDING + (
    "functions of the program cannot be called in it. `break FUNCTION` and "
    "`finish` show what its own calls returned; gdb's $_strlen, $_streq, "
    "$_memeq and $_regex work on it.")
NO_CHANGES = RECORDING + (
    "what happened in it cannot be changed. Variables of gdb's own can: "
    "set $x = 1.")


def explained(error):
    """What gdb says of a change that hark has forbidden it, in words that tell
    why."""
    text = str(error)
    if "may-call-functions is off" in text:
        return NO_CALLS
    if re.match(r"Writing to (memory|registers) is not allowed", text):
        return NO_CHANGES
    return text


class Print(Command):
    """Print value of expression EXP.
Usage: print [[OPTION]... --] [/FMT] [EXP]

As gdb's own `print`, with its options and formats (`help call`); but what
would change the recorded program is refused with a reason."""

    kind = gdb.COMMAND_DATA
    completes = gdb.COMPLETE_EXPRESSION

    def invoke(self, words, from_tty):
        try:
            gdb.execute("call " + words, from_tty)
        except gdb.error as e:
            Doubt.about = None
            raise gdb.GdbError(explained(e)) from None


class SetVariable(Command):
    """Evaluate expression EXP and assign the result to a variable of gdb's own.
Usage: set variable VAR = EXP"""

    kind = gdb.COMMAND_DATA
    completes = gdb.COMPLETE_EXPRESSION

    def invoke(self, words, from_tty):
        if not words.strip():
            raise gdb.GdbError("Argument required (expression to compute).")
        try:
            gdb.parse_and_eval(words)
        except gdb.error as e:
            raise gdb.GdbError(explained(e)) from None


class Doubt:
    """Of a command that hark cannot take the place of: was it refused? A hook
    before it sets this, one after it, which is not run if it failed, takes it
    back; what is left is said at the next prompt, and at the end."""

    about = None
    texts = {"call": NO_CALLS, "output": NO_CALLS, "set": NO_CHANGES}

    @classmethod
    def say(cls, *_):
        if cls.about is not None:
            print(cls.texts[cls.about])
        cls.about = None

    @classmethod
    def begin(cls, about):
        cls.say()
        cls.about = about


class Refused(Command):
    """A command that has no meaning in a recording."""

    def __init__(self, name, why):
        self.why = why
        super().__init__(name)

    def invoke(self, words, from_tty):
        raise gdb.GdbError(RECORDING + self.why)


class Signal(Refused):
    """Signals come when they came; `signal 0` continues, as `continue` does."""

    def invoke(self, words, from_tty):
        if words.strip() != "0":
            super().invoke(words, from_tty)
        gdb.execute("continue", from_tty)


REFUSED = {
    "jump": "it goes the way that it went. `tbreak LINE`, then `continue` or "
            "`reverse-continue`, stops where it came by; `seek` goes anywhere.",
    "return": "a function returns what it returned. `finish` goes to its end, "
              "`reverse-finish` to its begin.",
    "queue-signal": "signals come when they came. `catch signal` stops at "
                    "them.",
    "kill": "nothing runs that could be killed. `quit` ends the session.",
    "compile": "code cannot be added to what happened in it.",
}


DETACHED = ("hark: no process of the recording is looked at now. `attach PID` goes "
            "to one, `monitor processes` lists them, `quit` ends the session.")


def refuse_changes():
    Print("print")
    SetVariable("set variable")
    for name, why in REFUSED.items():
        Refused(name, why)
    Signal("signal", REFUSED["queue-signal"])
    gdb.execute("define hookpost-detach\necho " + DETACHED + "\\n\nend")
    for name in Doubt.texts:
        gdb.execute(f"define hook-{name}\npython Doubt.begin({name!r})\nend")
        gdb.execute(f"define hookpost-{name}\npython Doubt.about = None\nend")
    gdb.events.before_prompt.connect(Doubt.say)
    if hasattr(gdb.events, "gdb_exiting"):
        gdb.events.gdb_exiting.connect(Doubt.say)


# -- Values with bytes that are not known --
#
# The server has put marks in their places, for gdb shows nothing of a structure
# otherwise. A number with a mark in it would deceive, so here it becomes ??.

MARK = ord("?")
NUMBERS = {gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL,
           gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_FLAGS, gdb.TYPE_CODE_PTR,
           gdb.TYPE_CODE_RANGE}
OTHERS = {gdb.TYPE_CODE_COMPLEX, gdb.TYPE_CODE_DECFLOAT, gdb.TYPE_CODE_MEMBERPTR,
          gdb.TYPE_CODE_METHODPTR}


def is_missing(address, size):
    """Is a byte there not known? Reads of up to 8 bytes have no marks."""
    inferior = gdb.selected_inferior()
    for at in range(0, size, 8):
        try:
            inferior.read_memory(address + at, min(8, size - at))
        except gdb.MemoryError:
            return True
    return False


def may_have_mark(value, kind):
    """Most have none, and memory need not be asked for them."""
    if kind.code in NUMBERS:
        number = int(value) & (1 << 8 * kind.sizeof) - 1
        return MARK in number.to_bytes(kind.sizeof, "little")
    if kind.code == gdb.TYPE_CODE_FLT and kind.sizeof in (4, 8):
        letter = "<f" if kind.sizeof == 4 else "<d"
        number = float(value)
        return number != number or MARK in struct.pack(letter, number)
    return kind.code == gdb.TYPE_CODE_FLT or kind.code in OTHERS


def used_size(kind):
    """Of a long double 10 bytes are used."""
    is_long = kind.code == gdb.TYPE_CODE_FLT and kind.sizeof == 16
    return 10 if is_long and "128" not in (kind.name or "") else kind.sizeof


class Missing:
    """A number that is not known."""

    def to_string(self):
        return "??"


class Text:
    """An array of characters, some of which are not known."""

    def __init__(self, bytes_, missing, is_cut):
        self.bytes, self.missing, self.is_cut = bytes_, missing, is_cut

    @staticmethod
    def quoted(bytes_):
        return '"' + "".join("\\" + chr(c) if c in b'"\\' else
                             chr(c) if 32 <= c < 127 else f"\\{c:03o}"
                             for c in bytes_) + '"'

    def to_string(self):
        out = []
        pairs = zip(self.missing, self.bytes)
        for is_unknown, run in itertools.groupby(pairs, lambda p: p[0]):
            run = bytes(c for _, c in run)
            if not is_unknown:
                out.append(self.quoted(run))
            elif len(run) == 1:
                out.append("??")
            else:
                out.append(f"?? <repeats {len(run)} times>")
        return ", ".join(out) + ("..." if self.is_cut else "")


def text_of(value, kind):
    """A printer for an array of characters, or None: gdb does it well."""
    low, high = kind.range()
    most = gdb.parameter("print elements") or high + 1 - low
    n = min(high + 1 - low, most)
    bytes_ = bytes(int(value[low + i]) & 0xff for i in range(n))
    if MARK not in bytes_:
        return None
    address = int(value.address)
    missing = [c == MARK and is_missing(address + i, 1)
               for i, c in enumerate(bytes_)]
    if not any(missing):
        return None
    is_cut = n < high + 1 - low
    while not is_cut and not missing[-1] and bytes_[-1] == 0:
        bytes_, missing = bytes_[:-1], missing[:-1]
    return Text(bytes_, missing, is_cut)


def missing_fields(value, kind):
    """Bit-fields and references that are not known: as values, they do not say
    where they are."""
    out = set()
    for i, field in enumerate(kind.fields()):
        bits = getattr(field, "bitsize", 0)
        is_reference = field.type is not None and field.type.code in (
            gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
        if not hasattr(field, "bitpos") or not (bits or is_reference):
            continue
        bits = bits or 64
        first = field.bitpos // 8
        size = (field.bitpos + bits + 7) // 8 - first
        if is_missing(int(value.address) + first, size):
            out.add(i)
    return out


class Parts:
    """A structure with such fields."""

    def __init__(self, value, kind, missing):
        self.value, self.kind, self.missing = value, kind, missing

    def children(self):
        for i, field in enumerate(self.kind.fields()):
            if not hasattr(field, "bitpos"):
                continue  # static
            if i in self.missing:
                yield field.name, "??"
            elif field.name:
                name = f"<{field.name}>" if field.is_base_class else field.name
                yield name, self.value[field]
            else:  # its members are this one's
                part = self.value[field]
                kind = part.type.strip_typedefs()
                yield from Parts(part, kind,
                                 missing_fields(part, kind)).children()


def printer_of(value):
    """gdb asks this of each value, and of each part of it."""
    if value.is_optimized_out or value.is_lazy and value.address is None:
        return None
    kind = value.type.strip_typedefs()
    if kind.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        if value.address is None:
            return None
        missing = missing_fields(value, kind)
        return Parts(value, kind, missing) if missing else None
    if kind.code == gdb.TYPE_CODE_ARRAY:
        of = kind.target().strip_typedefs()
        is_text = of.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR) and \
            of.sizeof == 1 and value.address is not None
        return text_of(value, kind) if is_text else None
    if may_have_mark(value, kind) and value.address is not None and \
            is_missing(int(value.address), used_size(kind)):
        return Missing()
    return None


def unknown_printer(value):
    try:
        return printer_of(value)
    except (gdb.error, ValueError, OverflowError, TypeError):
        return None


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
    gdb.pretty_printers.append(unknown_printer)
    define_hooks()
    refuse_changes()
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
