f:entry { trace(((struct s *)arg0)->sp->n + node->b); trace(stringof(node->c)); x = args[0]->s.n; y = &node->n; printf("%s", (string)arg0); z = ((char **)arg0)[2]; }
