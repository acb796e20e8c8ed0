import ConformanceKit

extension [WorldFault] {
    /// Takes the fault that affects an exchange, and counts it.
    ///
    /// - Parameters:
    ///   - purpose: The exchange's purpose.
    ///   - text: Its content.
    /// - Returns: The first fault that is due.
    mutating func take(for purpose: WorldFault.Operation, holding text: String) -> WorldFault? {
        for index in indices
        where self[index].operation == .any || self[index].operation == purpose
            || (self[index].operation == .exposures && purpose == .events)
        {
            if let mark = self[index].containing, !text.contains(mark) { continue }
            if self[index].after > 0 {
                self[index].after -= 1
                continue
            }
            let fault = self[index]
            if let times = fault.times {
                self[index].times = times - 1
                if times <= 1 { remove(at: index) }
            }
            return fault
        }
        return nil
    }
}
