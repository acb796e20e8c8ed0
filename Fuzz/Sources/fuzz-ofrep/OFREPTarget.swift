import AdapterKit
import Experimentation
import FuzzVendor
import OFREPAdapter

/// Lets the adapter read an answer of its server.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    readAnswer(start, count) { transport in
        OFREPProvider(
            configuration: OFREPConfiguration(baseURL: Endpoint(https: "flags.example.com"), changes: .none),
            transport: transport
        )
    }
    return 0
}
