/* edit.h - the door to the line editor, a shared object of its own so that its
 * libraries are loaded only at a prompt. */
#ifndef LRUN_LUA_EDIT_H
#define LRUN_LUA_EDIT_H

typedef struct lr_editor {
    int (*open)(const char *history_file); /* NULL: none; 0 done, -1 no terminal */
    /* A line without its end, borrowed until the next call. NULL at the end of
     * input, or with *interrupted set where Ctrl-C dropped the line. */
    const char *(*line)(const char *prompt, int *interrupted);
    void (*add)(const char *line); /* to the history */
    void (*close)(void);
} lr_editor;

typedef const lr_editor *(*lr_editor_entry)(void);
#define LRUN_EDITOR_SYMBOL "lrun_editor"

#endif
