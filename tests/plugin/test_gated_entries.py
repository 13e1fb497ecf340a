"""The ways into the stock plugin that are younger than the header which the C++ is built with: they are what cc/pjrt
takes them for (cc/pjrt/gated_entries_test.cc goes through them), and no other way is there.
"""

from emulated import emulated

# By place: in the table, and in the extension for cross-host transfers.
LOAD, RECEIVE_BY_DESCRIPTOR, RECEIVE = 134, 0, 2


def answer_to_a_caller_older_than_any(function, table):
    """What the plugin says of arguments that have no size; it names the arguments' type and its size."""
    import ctypes

    class Message(ctypes.Structure):
        _fields_ = [
            ("struct_size", ctypes.c_size_t),
            ("extension", ctypes.c_void_p),
            ("error", ctypes.c_void_p),
            ("text", ctypes.c_void_p),
            ("size", ctypes.c_size_t),
        ]

    arguments = (ctypes.c_uint64 * 32)()
    error = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(function)(ctypes.addressof(arguments))
    message = Message(ctypes.sizeof(Message), None, error, None, 0)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(table[6])(ctypes.addressof(message))
    return ctypes.string_at(message.text, message.size).decode()


def words_of(address):
    import ctypes

    return ctypes.cast(address, ctypes.POINTER(ctypes.c_uint64))


def table_of_the_plugin():
    import ctypes

    import jax
    from jax_plugins import xla_cuda13

    jax.devices()
    plugin = ctypes.CDLL(f"{xla_cuda13.__path__[0]}/xla_cuda_plugin.so")
    plugin.GetPjrtApi.restype = ctypes.c_void_p
    return words_of(plugin.GetPjrtApi())


def extension_of(table, kind):
    address = table[1]
    while address and words_of(address)[1] & 0xFFFFFFFF != kind:
        address = words_of(address)[2]
    return words_of(address + 24)


@emulated()
def test_entries_younger_than_our_header_are_where_we_look_for_them():
    table = table_of_the_plugin()
    cross_host = extension_of(table, 12)
    for function, name in (
        (table[LOAD], "PJRT_Client_Load_Args"),
        (cross_host[RECEIVE_BY_DESCRIPTOR], "MakeCrossHostReceiveBuffers_Args size: expected 104"),
        (cross_host[RECEIVE], "CrossHostReceiveBuffers_Args size: expected 96"),
    ):
        assert name in answer_to_a_caller_older_than_any(function, table)


@emulated()
def test_the_plugin_offers_no_raw_buffers():
    kinds = []
    address = table_of_the_plugin()[1]
    while address:
        kinds.append(words_of(address)[1] & 0xFFFFFFFF)
        address = words_of(address)[2]
    assert 12 in kinds
    assert 8 not in kinds
