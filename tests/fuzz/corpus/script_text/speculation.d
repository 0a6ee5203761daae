a:b:c:entry { self->s = speculation(); speculate(self->s); trace(arg0); } d:return /arg1/ { commit(self->s); } d:return { discard(self->s); } 
