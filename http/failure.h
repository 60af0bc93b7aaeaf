/* The reasons for a request without a complete answer. */
#ifndef HTTP_FAILURE_H
#define HTTP_FAILURE_H

enum http_failure {
    HTTP_FAILURE_NONE,
    HTTP_FAILURE_UNSENT,          /* libcurl cannot make the request */
    HTTP_FAILURE_BROKEN,          /* libcurl reported an internal error */
    HTTP_FAILURE_CANCELLED,       /* the cancel descriptor is readable */
    HTTP_FAILURE_LIMIT,           /* the whole exchange took too long */
    HTTP_FAILURE_SILENCE,         /* no data arrived for too long */
    HTTP_FAILURE_TRICKLE,         /* data arrived or was sent too slowly */
    HTTP_FAILURE_COSTLY,          /* receiving took too much processor time */
    HTTP_FAILURE_TIMEOUT,         /* libcurl's own limit: no connection in time */
    HTTP_FAILURE_HEADERS,         /* the headers are too large */
    HTTP_FAILURE_CALLBACK,        /* a callback of the caller returned an error */
    HTTP_FAILURE_STOPPED,         /* a callback of the caller ended the exchange without an error */
    HTTP_FAILURE_LOST,            /* the reused connection ended during the request */
    HTTP_FAILURE_NO_ANSWER,       /* the connection ended without an answer */
    HTTP_FAILURE_SEND,            /* the connection ended while the request was sent */
    HTTP_FAILURE_RECEIVE,         /* reading failed during the answer */
    HTTP_FAILURE_PARTIAL,         /* the answer is shorter than its Content-Length */
    HTTP_FAILURE_NOT_HTTP,        /* the server does not use HTTP */
    HTTP_FAILURE_CERTIFICATE,     /* the server's certificate is not accepted */
    HTTP_FAILURE_AUTHORITIES,     /* the file with the authorities cannot be read */
    HTTP_FAILURE_OWN_CERTIFICATE, /* the client certificate cannot be used */
    HTTP_FAILURE_TLS,             /* another failure of TLS */
    HTTP_FAILURE_MEMORY,          /* out of memory, or a header that is too large for libcurl */
    HTTP_FAILURE_OTHER,           /* any other failure; libcurl's text names it */
};

#endif
