import Foundation
import Testing

@testable import Experimentation

@Suite("New ids")
struct FreshIDTests {
    @Test("an id is a random UUID of version 4, as Foundation writes it")
    func form() throws {
        let ids = (0..<1_000).map { _ in FreshID.make() }
        #expect(Set(ids).count == ids.count)
        for id in ids {
            let read = try #require(UUID(uuidString: id))
            #expect(read.uuidString == id)
            #expect(read.uuid.6 >> 4 == 4 && read.uuid.8 >> 6 == 2)
        }
        #expect(FreshID.text(0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210) == "01234567-89AB-4DEF-BEDC-BA9876543210")
        #expect(FreshID.text(.max, 0) == "FFFFFFFF-FFFF-4FFF-8000-000000000000")
    }
}
