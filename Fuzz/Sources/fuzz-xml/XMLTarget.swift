import AdapterKit

/// A parsed document survives a round trip.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let tree = try? XMLReader.parse(Array(UnsafeBufferPointer(start: start, count: count))) else { return 0 }
    guard let written = try? XMLWriter.write(tree), (try? XMLReader.parse(written)) == tree else {
        fatalError("a tree doesn't survive being written")
    }
    return 0
}
