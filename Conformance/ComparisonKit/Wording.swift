/// Number formats for all reports, independent of the locale.
public enum Wording {
    /// A number of bytes with up to three digits: `812 B`, `1.4 kB`, `137 kB`, `3.2 MB`, `1.1 GB`.
    public static func bytes(_ count: Int) -> String {
        if count < 1000 { return "\(count) B" }
        if count < 1_000_000 { return size(count, 1000) + " kB" }
        if count < 1_000_000_000 { return size(count, 1_000_000) + " MB" }
        if count < 1_000_000_000_000 { return size(count, 1_000_000_000) + " GB" }
        return size(count, 1_000_000_000_000) + " TB"
    }

    /// A fourth digit would be noise: ages that travel with events have more digits on a slower machine.
    private static func size(_ count: Int, _ unit: Int) -> String {
        count < 100 * unit ? tenths(count, unit) : String(count / unit)
    }

    /// Formats milliseconds with their significant digits.
    public static func milliseconds(_ value: Double) -> String {
        guard value.isFinite, value >= 0, value < 1e9 else { return "–" }
        if value >= 100 { return String(Int(value.rounded())) }
        if value < 0.01 { return "0" }
        return value >= 10 ? tenths(Int((value * 10).rounded()), 10) : hundredths(value)
    }

    /// Formats a count that may be unknown.
    public static func figure(_ count: Int?) -> String { count.map(String.init) ?? "can't be told" }

    /// A share from 0 to 1 in percent: `0 %`, `49.8 %`, `< 0.1 %`.
    public static func percent(_ share: Double) -> String {
        guard share.isFinite, share > 0 else { return "0 %" }
        let tenths = Int((min(share, 1) * 1000).rounded())
        if tenths == 0 { return "< 0.1 %" }
        // Almost everyone must not be rounded to everyone.
        if tenths == 1000 { return share < 1 ? "> 99.9 %" : "100 %" }
        return "\(tenths / 10)\(tenths % 10 == 0 ? "" : ".\(tenths % 10)") %"
    }

    /// A probability: `0.42`, `0.0004`, `< 1e-6`.
    public static func probability(_ p: Double) -> String {
        guard p.isFinite else { return "–" }
        if p < 1e-6 { return "< 1e-6" }
        if p < 0.001 {
            let millionths = Int((p * 1e6).rounded())
            let digits = String(millionths)
            return "0." + String(repeating: "0", count: 6 - digits.count) + digits
        }
        let thousandths = min(1000, Int((p * 1000).rounded()))
        let digits = String(thousandths % 1000)
        return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - digits.count) + digits
    }

    /// A count with thousands separators: `1,000,000`.
    public static func count(_ count: Int) -> String {
        var digits = Array(String(count.magnitude))
        var place = digits.count - 3
        while place > 0 {
            digits.insert(",", at: place)
            place -= 3
        }
        return (count < 0 ? "-" : "") + String(digits)
    }

    /// An expected count, which needn't be whole: `1,250`, `9.5`, `0`.
    static func expected(_ value: Double) -> String {
        guard value.isFinite, value >= 0, value < 1e15 else { return "–" }
        let tenths = Int((value * 10).rounded())
        return value >= 10 || tenths % 10 == 0 ? count(Int(value.rounded())) : "\(tenths / 10).\(tenths % 10)"
    }

    private static func tenths(_ count: Int, _ unit: Int) -> String {
        let tenths = count > .max / 20 ? count / unit * 10 : (count * 10 + unit / 2) / unit
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static func hundredths(_ value: Double) -> String {
        let count = Int((value * 100).rounded())
        let rest = count % 100
        return "\(count / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}
