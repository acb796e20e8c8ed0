import AdapterKit
import Experimentation
import Foundation
import Testing

@Suite("The system's description, and the place of an error")
struct PlatformTests {
    @Test("the system's version is three numbers")
    func version() {
        let parts = HostDevice.systemVersion.split(separator: ".", omittingEmptySubsequences: false)
        #expect(parts.count == 3)
        #expect(parts.filter { Int($0) == nil } == [])
    }

    #if os(Linux)
        @Test("Linux has its name, and no id for a vendor's applications")
        @MainActor
        func system() async {
            #expect(HostDevice.systemName == "Linux")
            #expect(HostDevice.vendorID == nil)
            #expect(await HostDevice.requestVendorID() == nil)
        }
    #endif

    @Test("the hardware is named", .enabled(if: PlatformTests.architecture != nil))
    func hardware() { #expect(HostDevice.hardware == Self.architecture) }

    /// What Linux calls the processor that this was compiled for.
    private static var architecture: String? {
        #if os(Linux) && arch(x86_64)
            "x86_64"
        #elseif os(Linux) && arch(arm64)
            "aarch64"
        #else
            nil
        #endif
    }

    @Test("a key that the application doesn't have is nil")
    func application() { #expect(HostDevice.application("NoSuchKeyOfAnyApplication") == nil) }

    @Test("an error about a document keeps its code and cause unless another code is given")
    func about() {
        let error = ExperimentationError(.parseError, "line 3", cause: CancellationError())
        let named = error.about("the file")
        #expect(named == ExperimentationError(.parseError, "the file: line 3"))
        #expect(named.cause is CancellationError)
        let setting = error.about("shop.json", as: .configuration)
        #expect(setting == ExperimentationError(.configuration, "shop.json: line 3"))
    }
}
