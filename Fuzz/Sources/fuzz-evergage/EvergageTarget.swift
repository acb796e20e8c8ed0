import AdapterKit
import EvergageAdapter
import Experimentation
import FuzzVendor

/// Lets the adapter read an answer of its vendor.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    readAnswer(start, count) { transport in
        EvergageProvider(configuration: try EvergageConfiguration(account: "a", dataset: "d"), transport: transport)
    }
    return 0
}
