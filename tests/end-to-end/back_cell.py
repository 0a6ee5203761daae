# tests/end-to-end/back_cell.py - two threads write to one word, in turns.
#
# It prints where the word is, and who wrote what there last.
import ctypes
import threading

cell = ctypes.c_uint64(0)
log = []
turns = [threading.Semaphore(1), threading.Semaphore(0)]


def work(k):
    for i in range(20):
        turns[k].acquire()
        cell.value = (k + 1) << 32 | i + 1
        log.append((threading.get_native_id(), cell.value))
        turns[1 - k].release()


workers = [threading.Thread(target=work, args=(k,)) for k in range(2)]
for w in workers:
    w.start()
for w in workers:
    w.join()
print("cell", hex(ctypes.addressof(cell)))
for tid, value in reversed(log):
    print("wrote", tid, value)
