import AdapterKit
import Experimentation
import FuzzVendor
import SigmaAdapter

/// Has the adapter read an answer of its vendor's.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    readAnswer(start, count) { transport in
        SigmaProvider(configuration: SigmaConfiguration(projectToken: "t"), transport: transport)
    }
    return 0
}
