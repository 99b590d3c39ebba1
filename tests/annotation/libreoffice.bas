REM What people do to a sheet in LibreOffice before they save it: one line of jobs.txt each, all in one process.
REM A line is: deed TAB source TAB how to read it TAB target TAB filter TAB its options TAB password

Sub Main(folder As String)
    Dim told As String
    Dim list As Integer
    list = FreeFile
    Open folder & "/jobs.txt" For Input As #list
    Do While Not Eof(list)
        Line Input #list, told
        If told <> "" Then Job(folder, Split(told, Chr(9)))
    Loop
    Close #list
    StarDesktop.terminate()
End Sub

Sub Job(folder As String, part)
    On Error GoTo Failed
    Dim asked(2) As New com.sun.star.beans.PropertyValue
    asked(0).Name = "Hidden" : asked(0).Value = True
    asked(1).Name = IIf(part(2) = "", "ReadOnly", "FilterName") : asked(1).Value = IIf(part(2) = "", False, "Text - txt - csv (StarCalc)")
    asked(2).Name = "FilterOptions" : asked(2).Value = part(2)
    Dim book, page
    book = StarDesktop.loadComponentFromURL(ConvertToURL(part(1)), "_blank", 0, asked())
    page = book.Sheets.getByIndex(0)
    If part(0) <> "" Then
        page.unprotect("")
        Deed(book, page, part(0))
    End If
    Dim told(2) As New com.sun.star.beans.PropertyValue
    told(0).Name = "FilterName" : told(0).Value = part(4)
    told(1).Name = "FilterOptions" : told(1).Value = part(5)
    told(2).Name = IIf(part(6) = "", "Overwrite", "Password") : told(2).Value = IIf(part(6) = "", True, part(6))
    book.storeToURL(ConvertToURL(part(3)), told())
    book.close(True)
    Exit Sub
Failed:
    Dim file As Integer
    file = FreeFile
    Open folder & "/errors.txt" For Append As #file
    Print #file, part(0) & ": " & part(3) & ": " & Error$ & " in line " & Erl
    Close #file
End Sub

Function LastRow(page) As Long
    Dim cursor
    cursor = page.createCursor()
    cursor.gotoEndOfUsedArea(False)
    LastRow = cursor.RangeAddress.EndRow
End Function

Function ColumnOf(page, name As String) As Long
    Dim at As Long
    For at = 0 To 20
        If LCase(page.getCellByPosition(at, 0).String) = name Then
            ColumnOf = at
            Exit Function
        End If
    Next at
    ColumnOf = -1
End Function

Sub SortRange(area, column As Long)
    Dim field(0) As New com.sun.star.table.TableSortField
    field(0).Field = column
    field(0).IsAscending = True
    Dim how(1) As New com.sun.star.beans.PropertyValue
    how(0).Name = "SortFields" : how(0).Value = field()
    how(1).Name = "ContainsHeader" : how(1).Value = False
    area.sort(how())
End Sub

Sub Deed(book, page, what As String)
    Dim label As Long, comment As Long, last As Long, row As Long
    Dim cell, area, address
    label = ColumnOf(page, "label") : comment = ColumnOf(page, "comment") : last = LastRow(page)
    Select Case what
    Case "whole sheet sorted by label"
        SortRange(page.getCellRangeByPosition(0, 1, comment, last), label)
    Case "whole sheet sorted by post"
        SortRange(page.getCellRangeByPosition(0, 1, comment, last), 2)
    Case "label column sorted by itself"
        SortRange(page.getCellRangeByPosition(label, 1, label, last), 0)
    Case "post column sorted by itself"
        SortRange(page.getCellRangeByPosition(2, 1, 2, last), 0)
    Case "id column sorted by itself"
        SortRange(page.getCellRangeByPosition(0, 1, 0, last), 0)
    Case "labels and what is beside them sorted by themselves"
        SortRange(page.getCellRangeByPosition(label, 1, comment, last), 0)
    Case "label column shifted down"
        address = page.getCellRangeByPosition(label, 3, label, 3).RangeAddress
        page.insertCells(address, com.sun.star.sheet.CellInsertMode.DOWN)
    Case "labels dragged down by two rows"
        address = page.getCellRangeByPosition(label, 3, label, 4).RangeAddress
        page.moveRange(page.getCellByPosition(label, 5).CellAddress, address)
    Case "a label struck through"
        page.getCellByPosition(label, 3).CharStrikeout = com.sun.star.awt.FontStrikeout.SINGLE
    Case "two rows deleted"
        page.Rows.removeByIndex(3, 2)
    Case "two labels emptied"
        page.getCellByPosition(label, 3).String = "" : page.getCellByPosition(label, 4).String = ""
        page.getCellByPosition(comment, 3).String = "" : page.getCellByPosition(comment, 4).String = ""
    Case "label column moved to the front"
        page.Columns.insertByIndex(0, 1)
        address = page.getCellRangeByPosition(label + 1, 0, label + 1, last).RangeAddress
        page.moveRange(page.getCellByPosition(0, 0).CellAddress, address)
        page.Columns.removeByIndex(label + 1, 1)
    Case "a column of notes added"
        page.Columns.insertByIndex(2, 1)
        page.getCellByPosition(2, 0).String = "my notes"
        page.getCellByPosition(2, 3).String = "ask Ann"
    Case "a column without a name added at the end"
        page.getCellByPosition(comment + 1, 3).String = "done on Monday"
    Case "a cell far beyond the header"
        page.getCellByPosition(comment + 5, 6).String = "?"
    Case "columns hidden"
        page.Columns.getByIndex(0).IsVisible = False : page.Columns.getByIndex(3).IsVisible = False
    Case "rows hidden"
        page.Rows.getByIndex(2).IsVisible = False : page.Rows.getByIndex(5).IsVisible = False
    Case "a filter on one label"
        Dim filter, fields(0) As New com.sun.star.sheet.TableFilterField
        area = page.getCellRangeByPosition(0, 0, comment, last)
        filter = area.createFilterDescriptor(True)
        fields(0).Field = label : fields(0).Operator = com.sun.star.sheet.FilterOperator.EQUAL
        fields(0).IsNumeric = False : fields(0).StringValue = page.getCellByPosition(label, 1).String
        filter.ContainsHeader = True : filter.setFilterFields(fields()) : area.filter(filter)
    Case "rows grouped and folded"
        address = page.getCellRangeByPosition(0, 2, 0, 5).RangeAddress
        page.group(address, com.sun.star.table.TableOrientation.ROWS)
        page.hideDetail(address)
    Case "two label cells merged"
        page.getCellRangeByPosition(label, 3, label, 4).merge(True)
        page.getCellByPosition(label, 4).String = ""
        page.getCellByPosition(comment, 4).String = ""
    Case "labels as autocorrection writes them"
        For row = 1 To last
            cell = page.getCellByPosition(label, row)
            cell.String = UCase(Left(cell.String, 1)) & Mid(cell.String, 2) & Chr(160) & " "
        Next row
    Case "a label mistyped"
        page.getCellByPosition(label, 3).String = "favuor"
    Case "keys typed as numbers"
        For row = 1 To last
            cell = page.getCellByPosition(label, row)
            cell.Value = IIf(cell.String = "favor", 1, IIf(cell.String = "against", 2, 3))
        Next row
    Case "keys shown with a decimal comma"
        Dim german As New com.sun.star.lang.Locale
        german.Language = "de" : german.Country = "DE"
        For row = 1 To last
            cell = page.getCellByPosition(label, row)
            cell.Value = IIf(cell.String = "favor", 1, IIf(cell.String = "against", 2, 3))
            cell.NumberFormat = Format_(book, "0,0", german)
        Next row
    Case "ids formatted as numbers"
        Dim english As New com.sun.star.lang.Locale
        english.Language = "en" : english.Country = "US"
        For row = 1 To last
            cell = page.getCellByPosition(0, row)
            cell.NumberFormat = Format_(book, "0.00E+00", english)
            cell.setFormula(cell.String)
        Next row
    Case "ids replaced by numbers"
        For row = 1 To last
            page.getCellByPosition(0, row).Value = 1255000000000000000 + row
        Next row
    Case "a comment became a date"
        page.getCellByPosition(comment, 3).setFormula("2020-05-01")
    Case "labels are formulas"
        For row = 1 To last
            cell = page.getCellByPosition(label, row)
            cell.setFormula("=""" & cell.String & """")
        Next row
    Case "a label is a broken formula"
        page.getCellByPosition(label, 3).setFormula("=1/0")
    Case "a sheet of notes before it"
        book.Sheets.insertNewByName("notes", 0)
        book.Sheets.getByIndex(0).getCellByPosition(0, 0).String = "to do"
    Case "a copy of the sheet behind it"
        book.Sheets.copyByName(page.Name, "copy", 1)
        book.Sheets.getByName("copy").getCellByPosition(label, 1).String = "skip"
    Case "protected with a password"
        page.protect("secret")
    Case "remarks beside cells"
        page.Annotations.insertNew(page.getCellByPosition(label, 3).CellAddress, "against? ask Ben")
        page.Annotations.insertNew(page.getCellByPosition(0, 4).CellAddress, "no")
    Case "empty rows between"
        page.Rows.insertByIndex(4, 2) : page.Rows.insertByIndex(2, 1)
    Case "an empty row above the header", "a title above the header"
        page.Rows.insertByIndex(0, 1)
        If what = "a title above the header" Then page.getCellByPosition(0, 0).String = "Labels of a1, round 1"
    Case "header in capitals"
        For row = 0 To comment
            cell = page.getCellByPosition(row, 0)
            cell.String = " " & UCase(cell.String) & " "
        Next row
    Case "header translated"
        page.getCellByPosition(label, 0).String = "Etikett"
    Case "post wrapped by hand"
        cell = page.getCellByPosition(2, 4)
        cell.String = Replace(cell.String, " ", Chr(10))
    Case "a word of a post changed"
        cell = page.getCellByPosition(2, 4)
        cell.String = cell.String & " really"
    Case "a row copied to the end and answered otherwise"
        address = page.getCellRangeByPosition(0, 3, comment, 3).RangeAddress
        page.copyRange(page.getCellByPosition(0, last + 1).CellAddress, address)
        page.getCellByPosition(label, last + 1).String = "skip"
    Case "colours, bold and borders"
        area = page.getCellRangeByPosition(0, 1, comment, last)
        area.CellBackColor = 16777062 : area.CharWeight = 150
    Case "rows and columns swapped"
        Dim table, swapped(comment), column As Long
        table = page.getCellRangeByPosition(0, 0, comment, last).getDataArray()
        page.getCellRangeByPosition(0, 0, comment, last).clearContents(1023)
        For row = 0 To last
            For column = 0 To comment
                page.getCellByPosition(row, column).String = table(row)(column)
            Next column
        Next row
    Case Else
        Error 1000
    End Select
End Sub

Function Format_(book, code As String, locale) As Long
    Format_ = book.NumberFormats.queryKey(code, locale, False)
    If Format_ = -1 Then Format_ = book.NumberFormats.addNew(code, locale)
End Function
