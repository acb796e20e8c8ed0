import ExperimentationTesting
import Testing

@testable import Experimentation

@Suite("Decimal fractions in integer arithmetic")
struct DecimalFractionTests {
    @Test(
        "are rounded as by the C library, even halfway between two numbers",
        arguments: [
            "0.0", "-0.0", "0.5", "1.0", "-1.5", "0.1", "0.2", "0.3", "0.001", "1795262400.123456",
            "1795262400.1234567", "1795262400.0000001", "9007199254740992.0", "9007199254740993.0",
            "9007199254740993.01", "9007199254740995.0", "-9007199254740993.00", "4503599627370496.5",
            "4503599627370497.5", "4503599627370497.501", "999999999999999999.9", "123456789012345678.9",
            "0.9999999999999999", "0.99999999999999999", "9.999999999999999999", "1.000000000000000111",
        ]
    )
    func rounding(_ text: String) throws {
        let number = try #require(DecimalFraction.read(Array(text.utf8)))
        #expect(number.bitPattern == Double(text)?.bitPattern)
    }

    @Test("are rounded correctly for any digits")
    func any() throws {
        let dice = Dice(7)
        var read = 0
        for _ in 0..<50_000 {
            let whole = dice.below(2) == 0 ? dice.below(1_000) : dice.below(1_000_000_000_000)
            let places = 1 + dice.below(7)
            let text = "\(whole)." + (0..<places).map { _ in String(dice.below(10)) }.joined()
            guard let number = DecimalFraction.read(Array(text.utf8)) else { continue }
            read += 1
            if number != Double(text) { Issue.record("\(text) was read as \(number)") }
        }
        #expect(read > 49_900)
    }

    @Test(
        "are left to the slow path when they are long, tiny or not a fraction",
        arguments: [
            "1", "1.5e3", "1E5", "+1.5", "1.2.3", "12345678901234567890.1", "0.00000001", "1.23456789012345678901",
        ]
    )
    func others(_ text: String) { #expect(DecimalFraction.read(Array(text.utf8)) == nil) }
}
