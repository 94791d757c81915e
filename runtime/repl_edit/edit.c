/* The prompt's line editor: libedit, with a history that is kept in a file. */
#include "lua/edit.h"
#include <errno.h>
#include <histedit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static EditLine *editor;
static History *history_list;
static char *history_file;
static const char *prompt_text = "";
static char *held;

static char *show_prompt(EditLine *el)
{
    (void)el;
    return (char *)prompt_text;
}

static void edit_close(void)
{
    HistEvent ev;
    if (history_list != NULL && history_file != NULL) history(history_list, &ev, H_SAVE, history_file);
    if (editor != NULL) el_end(editor);
    if (history_list != NULL) history_end(history_list);
    free(history_file);
    free(held);
    editor = NULL;
    history_list = NULL;
    history_file = held = NULL;
}

static int edit_open(const char *file)
{
    HistEvent ev;
    editor = el_init("lrun", stdin, stdout, stderr);
    history_list = history_init();
    if (editor == NULL || history_list == NULL) {
        edit_close();
        return -1;
    }
    history(history_list, &ev, H_SETSIZE, 1000);
    history(history_list, &ev, H_SETUNIQUE, 1);
    if (file != NULL) {
        history_file = strdup(file);
        history(history_list, &ev, H_LOAD, file);
    }
    el_set(editor, EL_PROMPT, show_prompt);
    el_set(editor, EL_EDITOR, "emacs");
    el_set(editor, EL_HIST, history, history_list);
    el_set(editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_source(editor, NULL);
    return 0;
}

static const char *edit_line(const char *prompt, int *interrupted)
{
    int n = 0;
    prompt_text = prompt;
    errno = 0;
    const char *text = el_gets(editor, &n);
    if (text == NULL || n <= 0) {
        *interrupted = n < 0 && errno == EINTR;
        if (*interrupted) {
            /* the dropped line stays on the screen */
            el_reset(editor);
            fputs("^C\n", stdout);
            fflush(stdout);
        }
        return NULL;
    }
    free(held);
    held = strdup(text);
    if (held == NULL) return NULL;
    held[strcspn(held, "\n")] = 0;
    return held;
}

static void edit_add(const char *line)
{
    HistEvent ev;
    history(history_list, &ev, H_ENTER, line);
}

static const lr_editor table = {edit_open, edit_line, edit_add, edit_close};

const lr_editor *lrun_editor(void);
const lr_editor *lrun_editor(void)
{
    return &table;
}
