import os, signal, time
signal.signal(signal.SIGINT, lambda *_: os.write(1, b"INT\n"))
os.write(1, b"up\n")
while not os.path.exists("stop"):
    time.sleep(0.02)
os._exit(4)
