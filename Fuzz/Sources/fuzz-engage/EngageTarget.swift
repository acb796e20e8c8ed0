import AdapterKit
import EngageAdapter
import Experimentation
import FuzzVendor

/// Has the adapter read an answer of its vendor's.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    readAnswer(start, count) { transport in
        EngageProvider(
            configuration: EngageConfiguration(
                endpoint: Endpoint(https: "example.com"),
                credentials: .init(clientID: "i", clientSecret: "s", refreshToken: "r"),
                listID: "1"
            ),
            transport: transport
        )
    }
    return 0
}
