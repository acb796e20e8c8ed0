import AdapterKit
import Experimentation
import FuzzVendor
import SigmaAdapter

/// Lets the adapter read an answer of its vendor.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    readAnswer(start, count) { transport in
        SigmaProvider(configuration: SigmaConfiguration(projectToken: "t"), transport: transport)
    }
    return 0
}
