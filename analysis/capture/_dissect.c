/* SPDX-License-Identifier: MIT
 *
 * Python binding of records.h: takes buffers and fills columns in place.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include "records.h"

/* Take the writable buffer of every column. Returns their number, or -1 with an exception set and no buffer held. */
static int take_columns(PyObject *tuple, Py_buffer *views, size_t *rows)
{
	Py_ssize_t columns = PyTuple_Size(tuple), taken;

	if (columns != COLUMNS && columns != ALL_COLUMNS) {
		PyErr_Format(PyExc_ValueError, "%d or %d columns are needed", (int)COLUMNS, (int)ALL_COLUMNS);
		return -1;
	}
	for (taken = 0; taken < columns; taken++) {
		size_t length;

		if (PyObject_GetBuffer(PyTuple_GetItem(tuple, taken), &views[taken], PyBUF_WRITABLE) < 0)
			break;
		length = (size_t)views[taken].len / column_bytes[taken];
		if ((size_t)views[taken].itemsize != column_bytes[taken] || (taken && length != *rows)) {
			PyErr_Format(PyExc_ValueError, "column %zd has the wrong width or length", taken);
			PyBuffer_Release(&views[taken]);
			break;
		}
		*rows = length;
	}
	if (taken == columns)
		return (int)columns;
	while (taken--)
		PyBuffer_Release(&views[taken]);
	return -1;
}

PyDoc_STRVAR(headers_doc,
"headers(blocks, swapped, ticks, link) -> bytearray\n\n"
"Return the state that `fill` keeps about a file. A pcapng file (`blocks`) describes itself. For a pcap file, give its\n"
"link type, how many ticks a second has, and whether its byte order differs from this machine's.");

static PyObject *headers(PyObject *Py_UNUSED(module), PyObject *args)
{
	unsigned int ticks, link;
	int blocks, swapped;
	static const struct headers nothing;
	struct headers *h;
	PyObject *state;

	if (!PyArg_ParseTuple(args, "ppII:headers", &blocks, &swapped, &ticks, &link))
		return NULL;
	if (!blocks && ticks != 1000000 && ticks != 1000000000) {
		PyErr_SetString(PyExc_ValueError, "ticks must be 1000000 or 1000000000");
		return NULL;
	}
	state = PyByteArray_FromStringAndSize((const char *)&nothing, sizeof(nothing));
	if (!state)
		return NULL;
	h = (struct headers *)PyByteArray_AsString(state);
	h->blocks = (uint32_t)blocks;
	h->swapped = (uint32_t)swapped;
	h->interface[0] = (struct interface){ .ticks = ticks, .link = link };
	return state;
}

PyDoc_STRVAR(fill_doc,
"fill(data, offset, headers, columns) -> (rows, offset, ending, found)\n\n"
"Fill the writable buffers of the tuple `columns` with one row per packet, from the record at `offset` of a capture\n"
"on, until the file ends or the columns are full. `headers` comes from headers() and is updated. The returned `offset`\n"
"is where the walk ended, `ending` says why (0: end of the file or of the columns; otherwise `enum ending`), and\n"
"`found` is the offending number, if there is one.");

static PyObject *fill(PyObject *Py_UNUSED(module), PyObject *args)
{
	PyObject *data, *state, *tuple;
	Py_buffer view, known, views[ALL_COLUMNS];
	void *memory[ALL_COLUMNS] = { NULL };
	Py_ssize_t offset;
	size_t rows = 0;
	int columns;
	struct file f;
	struct columns c;
	struct walk w;

	if (!PyArg_ParseTuple(args, "OnO!O!:fill", &data, &offset, &PyByteArray_Type, &state, &PyTuple_Type, &tuple))
		return NULL;
	if (PyByteArray_Size(state) != sizeof(struct headers)) {
		PyErr_SetString(PyExc_ValueError, "headers must be what headers() made");
		return NULL;
	}
	if (offset < 0) {
		PyErr_SetString(PyExc_ValueError, "offset must not be negative");
		return NULL;
	}
	if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0)
		return NULL;
	if (PyObject_GetBuffer(state, &known, PyBUF_WRITABLE) < 0) {
		PyBuffer_Release(&view);
		return NULL;
	}
	columns = take_columns(tuple, views, &rows);
	if (columns >= 0) {
		f = (struct file){ .bytes = view.buf, .size = (size_t)view.len, .headers = known.buf };
		for (int i = 0; i < columns; i++)
			memory[i] = views[i].buf;
		c = columns_of(memory);
		Py_BEGIN_ALLOW_THREADS
		w = walk_records(&f, (size_t)offset, &c, rows);
		Py_END_ALLOW_THREADS
	}
	for (int i = 0; i < columns; i++)
		PyBuffer_Release(&views[i]);
	PyBuffer_Release(&known);
	PyBuffer_Release(&view);
	if (columns < 0)
		return NULL;
	return Py_BuildValue("nniK", (Py_ssize_t)w.records, (Py_ssize_t)w.offset, (int)w.ending,
			     (unsigned long long)w.found);
}

PyDoc_STRVAR(left_out_doc,
"left_out(headers) -> [(kind, count, offset, found), ...]\n\n"
"Tell how many records were left out so far, by `enum oddity`, with the first one's offset and offending number.");

static PyObject *left_out(PyObject *Py_UNUSED(module), PyObject *args)
{
	PyObject *state, *all;
	struct headers *h;

	if (!PyArg_ParseTuple(args, "O!:left_out", &PyByteArray_Type, &state))
		return NULL;
	if (PyByteArray_Size(state) != sizeof(struct headers)) {
		PyErr_SetString(PyExc_ValueError, "headers must be what headers() made");
		return NULL;
	}
	h = (struct headers *)PyByteArray_AsString(state);
	all = PyList_New(0);
	for (int kind = 0; all && kind < ODDITIES; kind++) {
		PyObject *one;

		if (!h->odd[kind].count)
			continue;
		one = Py_BuildValue("iKKK", kind, (unsigned long long)h->odd[kind].count,
				    (unsigned long long)h->odd[kind].offset, (unsigned long long)h->odd[kind].found);
		if (!one || PyList_Append(all, one) < 0)
			Py_CLEAR(all);
		Py_XDECREF(one);
	}
	return all;
}

static PyMethodDef methods[] = {
	{ "headers", headers, METH_VARARGS, headers_doc },
	{ "left_out", left_out, METH_VARARGS, left_out_doc },
	{ "fill", fill, METH_VARARGS, fill_doc },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_dissect",
	.m_doc = "Reads the packets of a pcap or pcapng file into columns.",
	.m_size = 0,
	.m_methods = methods,
};

PyMODINIT_FUNC PyInit__dissect(void)
{
	return PyModule_Create(&module);
}
