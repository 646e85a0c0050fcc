/* SPDX-License-Identifier: MIT
 *
 * records.h for Python: buffers in, columns filled in place.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include "records.h"

/* Takes the writable buffer of every column; on failure releases what it took. */
static int take_columns(PyObject *tuple, Py_buffer *views, size_t *rows)
{
	Py_ssize_t taken;

	if (PyTuple_Size(tuple) != COLUMNS) {
		PyErr_Format(PyExc_ValueError, "%d columns are needed", (int)COLUMNS);
		return -1;
	}
	for (taken = 0; taken < COLUMNS; taken++) {
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
	if (taken == COLUMNS)
		return 0;
	while (taken--)
		PyBuffer_Release(&views[taken]);
	return -1;
}

PyDoc_STRVAR(fill_doc,
"fill(data, offset, swapped, ticks, columns) -> (rows, offset, ending)\n\n"
"Fills one row a record into the writable buffers of the tuple `columns`, from the record at `offset` of a pcap file's\n"
"bytes on, as many as there is room for. The `offset` returned is where the walk ended; `ending` says why:\n"
"0 at the end of the file or of the columns, 1 the last record is cut off, 2 a captured length that no writer writes,\n"
"3 a fraction of a second above one.");

static PyObject *fill(PyObject *Py_UNUSED(module), PyObject *args)
{
	PyObject *data, *tuple;
	Py_buffer view, views[COLUMNS];
	void *memory[COLUMNS];
	Py_ssize_t offset;
	unsigned int ticks;
	int swapped;
	size_t rows = 0;
	struct file f;
	struct columns c;
	struct walk w;

	if (!PyArg_ParseTuple(args, "OnpIO!:fill", &data, &offset, &swapped, &ticks, &PyTuple_Type, &tuple))
		return NULL;
	if (ticks != 1000000 && ticks != 1000000000) {
		PyErr_SetString(PyExc_ValueError, "ticks must be 1000000 or 1000000000");
		return NULL;
	}
	if (offset < FILE_HEADER) {
		PyErr_SetString(PyExc_ValueError, "offset must be behind the file's header");
		return NULL;
	}
	if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0)
		return NULL;
	if (take_columns(tuple, views, &rows) < 0) {
		PyBuffer_Release(&view);
		return NULL;
	}
	f = (struct file){ .bytes = view.buf, .size = (size_t)view.len, .swapped = swapped, .ticks = ticks };
	for (int i = 0; i < COLUMNS; i++)
		memory[i] = views[i].buf;
	c = columns_of(memory);
	Py_BEGIN_ALLOW_THREADS
	w = walk_records(&f, (size_t)offset, &c, rows);
	Py_END_ALLOW_THREADS
	for (int i = 0; i < COLUMNS; i++)
		PyBuffer_Release(&views[i]);
	PyBuffer_Release(&view);
	return Py_BuildValue("nni", (Py_ssize_t)w.records, (Py_ssize_t)w.offset, (int)w.ending);
}

static PyMethodDef methods[] = {
	{ "fill", fill, METH_VARARGS, fill_doc },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT,
	.m_name = "_dissect",
	.m_doc = "Records of a pcap file to columns.",
	.m_size = 0,
	.m_methods = methods,
};

PyMODINIT_FUNC PyInit__dissect(void)
{
	return PyModule_Create(&module);
}
