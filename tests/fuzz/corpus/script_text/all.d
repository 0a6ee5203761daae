#pragma D option quiet
int count; self string path; this uint8_t small; string names[int, string];
BEGIN, tick-1s /count / 2 == 0 || !($target ^^ $target)/ {
	count += 3; this->small = count++ * 2 - ~arg1 << 1; names[1, "x"] = strjoin(execname, "y");
	if (names[1, "x"] != NULL && strlen(names[1, "x"]) > 2) { trace(substr(names[1, "x"], 1, 2)); } else { print(1 ? 2 : 3); }
	@a[tid, probefunc, ustack(3), usym(arg0)] = lquantize(arg0 % 7, 0, 100, 10);
	@b = llquantize(arg1, 10, 0, 6, 20); @c[execname] = stddev(count); @d = quantize(arg0, 2); @e = avg(arg0); @f = min(arg0); @g = max(arg1);
	printf("%-5s %*d %k %A %Y\n", copyinstr(arg0), 5, *(int *)copyin(arg1, 4), ustack(), arg0, walltimestamp);
	tracemem(arg0, 20); self->path = basename(dirname(toupper("/a/b")));
	printa("%d %s %k %A %@d\n", @a); trunc(@a, 5); normalize(@b, 1000); clear(@c); denormalize(@d); stop(); raise(9);
	x[arg0] = index("hello", "l") + rindex("hello", "l", 3) + strtoll(lltostr(arg1, 16), 16); x[arg0]--; ++x[1]; exit(0);
}
END
