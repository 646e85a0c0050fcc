/* SPDX-License-Identifier: MIT */
/* What configure would find in the build root. Without HAVE_INT64, counters are the `int` that Tcl can read. */
#define NSPERL_PATH ""
#define NSTCLSH_PATH ""
#define RANDOM_RETURN_TYPE long
#define SIZEOF_LONG 8
#define HAVE_SOCKLEN_T 1
#define HAVE_BCOPY 1
#define HAVE_BZERO 1
#define HAVE_GETRUSAGE 1
#define HAVE_SBRK 1
#define HAVE_SNPRINTF 1
#define HAVE_STRTOLL 1
#define HAVE_STRTOQ 1
#define STDC_HEADERS 1
#define HAVE_STRING_H 1
#define HAVE_STRINGS_H 1
#define HAVE_ARPA_INET_H 1
#define HAVE_NETINET_IN_H 1
#define HAVE_NET_ETHERNET_H 1
#define HAVE_FENV_H 1
#define HAVE_ETHER_HEADER_STRUCT 1
#ifdef __cplusplus
#define HAVE_STL 1
#define CPP_NAMESPACE std
using namespace CPP_NAMESPACE;
#endif
